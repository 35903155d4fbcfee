"""Silver: what the replicas' logs say, capture by capture, before anybody is compared.

- `control_records`: the Raft layer's records of the log and of snapshots, out of their payloads.
- `held_batches`: which batches were in the log of which capture.
- `leader_epochs`, `voter_sets`: the tables.
- `known_epochs`: every epoch of a cluster that anything names; gold's history starts from it.
- `replica_logs`: a capture's whole log in one row, for the comparisons of gold.
"""
