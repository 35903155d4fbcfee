"""One cluster as the derived tables see it, whether this process holds its rows or a task reads
them.

- `cluster_tables`: its rows in bronze's tables. `bronze_rows`: those that all tables need.
- `batches`: batches, or runs of them, as columns. `replica_logs`: which of them each capture's log
  held.
- `branch`: the agreed branch a piece at a time. `branch_facts`: what adds up over its pieces.
- `control`: Raft's own records. `rows`, `aggregates`, `overlaps`: what the others are made of.
"""
