"""Bronze: the content of captured directories as rows, each row once.

`ingest.Ingest` ingests one round of capture groups. Its writes are MERGEs by key, and appends with
a transaction id; it writes bronze.captures last. So an ingest that was killed is simply run again.
"""
