"""The tables of gold that Spark's workers make: those with a row for each record, and the health
that is read from them.

- `metadata_history`: the tables of versions and of changes; `health`: judgements of the newest
  state.
- `rules`: check's rules on single rows, without Spark.

pipelines.in_memory makes all other tables.
"""
