"""The records of large clusters, which Spark's workers take one by one.

- `branch_records`: those of the agreed branch, each once; `lost_tails`: those of branches that
  lost.
- `replay_plan`, `branch_runs`: where a replay begins and ends; `stored_records`: records spread
  over its parts; `agreed_replay`: the replay.
- `record_lengths`: how many bytes records take.

All other tables are made by pipelines.in_memory.
"""
