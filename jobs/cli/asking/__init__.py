"""Commands that ask a lake: sql, plan, history, state. All except sql can ask directories instead.

- sql: `sql`, a module for each engine (`sql_delta_rs`, `sql_duckdb`, `sql_spark`), `query_result`,
  `sql_views`, `sql_tables`, `questions`, `sql_prompt`.
- plan: `preflight`, `plan_line`. history: `history`. state: `state`, `state_of_cluster` (sizes),
  `exposed`, `exposure_line`, `effective` (the configs in force), `entities` (the state itself).
- `about`: the entities and the cluster that the user asks about. `cluster_source` and
  `cluster_in_lake` give a cluster's state, from directories and from a lake; `lake_history` gives
  its changes, and `lake_readings` the records of a lake's newest captures that a release can't
  read.
"""
