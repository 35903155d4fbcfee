"""The replay of the agreed branch: pure functions of rows, which builds with and without Spark
call.

- `plan`: the runs without a hole, and the offsets of snapshots; `parts`: how a part walks the log.
- `columns`: the records that a part needs, chosen in columns; `entries`: records in columns, and as
  values.
- `history`: versions of entities, and changes; `partitions`: those of partitions, by a kernel;
  `written`: both as rows. `compared`: every snapshot compared with the log, by each part, and the
  rows of all parts as those of one.

pipelines.in_memory.replay gives the records of a log to these functions, for pipelines.large in
Spark's tasks, and for a small log in this process. No module here imports pyspark.
"""
