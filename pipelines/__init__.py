"""From directories to tables: captures, a lake of Delta tables, and the answers that are read from
it, with Spark or without it. docs/reference/the-lake.md lists the tables.

- In: `capture`, `capture_rounds`, `own_folder`; `sources` are Spark's data sources of logs.
- The lake: `lake`, `object_store`, `tables` (contracts), `delta` and `data_files` (writing),
  `catalog` (names).
- Bronze: `bronze`, `finding_rows`. Silver and gold: `nodes` (which function makes which table),
  `in_memory`, `replay`. `small_build` with `clusters` runs these functions here, `build` with
  `large` in Spark's tasks; `tasks` is the way to both. `last_build`: what the next build compares.
- Out: `report`, `feeds`, `quality`, `lineage`.
- Spark: `spark` (session, jars, Java). `conf_files`: settings. `cyclic_garbage`: the collector.
"""
