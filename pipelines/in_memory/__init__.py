"""The derived tables of one cluster, computed in this process: no JVM is started.

Each module of this package makes rows of some tables from rows of others; pipelines.nodes has the
tables. Rows are dicts, column name to value, as pyarrow gives them: times are aware datetimes, a
VARIANT is a dict of two byte strings. What a cluster may have millions of is held in columns:
batches, the entries of the agreed branch, and records (`batches`, `committed`, `branch`). This
process holds all records of a small cluster only; those of a large one are read and replayed by
Spark's tasks (pipelines.large).
"""
