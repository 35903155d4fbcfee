"""The health of a cluster, judged by Spark's workers, and the rules by which all of gold is judged.

- `health`: judgements of the newest state.
- `rules`: check's rules on single rows, without Spark.

pipelines.in_memory makes all other tables.
"""
