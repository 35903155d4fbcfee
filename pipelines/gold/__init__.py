"""Gold, as far as Spark's workers make it, and the rules that all of gold is judged by.

- `health`: judgements on the newest state.
- `rules`: check's rules on single rows, without Spark.

All other tables are made by pipelines.in_memory.
"""
