"""The agreed branch replayed: pure functions of rows, which both ways to build a lake call.

- `plan`: the runs without a hole, and where snapshots belong; `parts`: how a part walks the log.
- `columns`: which records a part has to see; `stored`: records as the tables keep them, back as
  values; `entries`: in columns, and one by one.
- `history`: versions of entities, and changes; `partitions`: those of partitions, by a kernel;
  `written`: both as rows. `compared`: every snapshot beside the log; `folded`: what several parts
  say of one.

pipelines.large hands the rows of a large log to Spark's tasks, pipelines.in_memory those of a small
one to this process. No module here imports pyspark.
"""
