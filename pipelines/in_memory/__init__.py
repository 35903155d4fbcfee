"""The derived tables of one cluster, computed in this process: no JVM is started.

Each module of this package makes rows of some tables from rows of others; pipelines.nodes has the
tables. Rows are dicts, column name to value, as pyarrow gives them: times are aware datetimes, a
VARIANT is a dict of two byte strings. What a cluster may have millions of, batches and the entries
of the agreed branch, are columns (`batches`, `committed`). Records are rows here only where a
cluster is small; those of a large one are replayed by Spark's tasks (pipelines.large).
"""
