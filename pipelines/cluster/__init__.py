"""One cluster as the derived tables see it, whether this process holds its rows or a task reads
them.

- `cluster_tables`: the cluster's rows in bronze's tables. `bronze_rows`: the rows that all derived
  tables need.
- `batches`: batches, or runs of batches, as columns. `replica_logs`: the batches that each
  capture's log held.
- `branch`: the agreed branch a piece at a time. `branch_facts`: sums and counts over its pieces.
- `control`: Raft's own records. `rows`, `aggregates`, `overlaps`: functions that the other modules
  share.
"""
