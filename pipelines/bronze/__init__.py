"""Bronze: the content of captured directories as rows, each row once. `ingest` is the beginning."""
