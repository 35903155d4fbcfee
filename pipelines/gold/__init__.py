"""Gold, as far as Spark's workers make it: what has a row for each record, and what reads that.

- `metadata_history`: the tables of versions and of changes; `health`: judgements on the newest
  state.
- `rules`: check's rules on single rows, without Spark.

All other tables are made by pipelines.in_memory.
"""
