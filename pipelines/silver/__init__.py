"""Silver: what the replicas' logs say, capture by capture, and what a group of them agrees on.

- `control_records`: the Raft layer's records of the log and of snapshots, out of their payloads.
- `held_batches`: which batches were in the log of which capture.
- `leader_epochs`, `voter_sets`: the tables.
- `known_epochs`: every epoch of a cluster that anything names; gold's history starts from it.
- `replica_logs`: a capture's whole log in one row, for comparisons; `replica_log`: such a row as
  replica.history's value.
- `group_findings`: one capture group compared on a worker: pairs, epochs, the agreed branch.
- `committed_log`: the table of that branch, over all groups.
"""
