"""Bronze: looks at directories become rows, once and only once.

`ingest.ingest` takes one round of capture groups. Its writes are MERGEs by key and appends with a
transaction id, and bronze.captures is written last, so an ingest that was killed is simply run
again.
"""
