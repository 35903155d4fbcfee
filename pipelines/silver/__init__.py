"""The work that Spark's workers do on the records of large clusters.

- `branch_records`: the records of the agreed branch, each once; `lost_tails`: the records of
  branches that lost.
- `replay_plan`, `branch_runs`: where a replay begins and ends; `stored_records`: the records of
  each part of a replay; `agreed_replay`: the replay.
- `record_lengths`: how many bytes the records take.

pipelines.in_memory makes all other tables.
"""
