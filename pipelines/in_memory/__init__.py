"""The derived tables of one cluster, computed in this process: no JVM is started.

- `bronze_rows`: the input, one cluster's rows of bronze. `derived`: what later tables are made of.
- Silver: `held` (which batches each capture's log held), `epochs` with `control` (leader epochs and
  voter sets), `committed` (the agreed branch), `snapshots`.
- The replay of the agreed branch: `plan`, `branch`, `replay`; `metadata` makes gold's rows of it.
- Gold: `group_finding` and `histories` (what the logs of a round show), `health` with
  `health_rules`, `membership`, `judgements` (all findings); `quorum` is a folder of its own.
- `rows`, `batches`, `overlaps`, `aggregates`: what the others are made of.

Each module of this package makes rows of some tables from rows of others; pipelines.nodes has the
tables. Rows are dicts, column name to value, as pyarrow gives them: times are aware datetimes, a
VARIANT is a dict of two byte strings. What a cluster may have millions of is held in columns:
batches, the entries of the agreed branch, and records (`batches`, `committed`, `branch`). This
process holds all records of a small cluster only; those of a large one are read and replayed by
Spark's tasks (pipelines.large).
"""
