"""From directories to tables: captures, a lake of Delta tables, and the answers that are read from
it, with Spark or without it. docs/reference/the-lake.md lists the tables.

- In: `capture`, `capture_rounds`, `own_folder`; `sources` are Spark's data sources of logs;
  `streaming` runs a stream over them.
- The lake: `lake`, `object_store`, `tables` (contracts); `delta`, `data_files` and `new_file`
  (writing); `catalog` (names), `dialects` (text that goes into SQL), `sql_text` (what a query
  names), `by_duckdb` (DuckDB over a lake's tables).
- Bronze: `bronze`, `finding_rows`. Silver and gold: `build` is the stages in their order, with
  `large_clusters` and `audit_and_commit`; `stages` has their functions, `runners` the two engines.
  `changed_clusters`, `last_build`, `unchanged_logs`: what is derived anew. `table_functions`: which
  function makes which table; `cluster`, `silver`, `gold`, `replay`: these functions. `judge_lake`:
  all tables judged by `quality`. `own_tables`: the tables that a user adds to a lake.
- Without a lake: `frames`, the same functions for DataFrames of `sources`.
- Out: `report`, `feeds`, `lineage`; `html_text` (all markup).
- Spark: `spark` (session, jars, Java). `conf_files`: settings. `cyclic_garbage`: Python's
  garbage collector.
"""
