"""The check's rules on rows of the tables: pure functions, which Spark's workers and
pipelines.in_memory call. No module here imports pyspark.

- `snapshots`: the verdict on a snapshot, and on snapshots of one id.
- `membership`: the ids that the members of a round claim; `lineage`: how a group's logs relate.
- `health`: the health of a cluster and its exposures in the newest state, and the
  capture that shows that state.
"""
