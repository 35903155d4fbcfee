"""Gold: answers. The reasoning is replica.history's; here it meets the rows.

- `replica_log`: a packed row of silver.replica_logs as replica.history's value.
- `group_findings`: one capture group compared on a worker: pairs, epochs, the agreed branch.
- `divergence_points`, `leader_epoch_history`: the tables, from those findings.
"""
