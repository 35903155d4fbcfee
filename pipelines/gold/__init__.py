"""Gold: answers. The reasoning is replica.history's; here it meets the rows.

- `divergence_points`, `leader_epoch_history`: the tables, from silver.group_findings.
- `findings`, `snapshot_validity`: what check says; `membership`, `same_snapshots`: its rules
  between directories; `rules`: the judgements on single rows, without Spark.
- `truncations`: what vanished between captures, and whether it had been committed.
"""
