"""The check's rules on rows of the tables: pure functions, called by Spark's workers and by
pipelines.in_memory. No module here imports pyspark.

- `snapshots`: the verdict on a snapshot; `same_snapshots`: snapshots of one id.
- `membership`: who the members of a round claim to be; `lineage`: what a group's logs say.
- `health`: the health of a cluster and its exposures, by its newest state; `looks`: which capture
  tells that state.
- `finding_rows`: findings as rows.
"""
