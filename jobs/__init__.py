"""The `kraftlake` command: cli, and a folder for each group of commands that its help shows.

- `cli`: all commands; `commands`: their options and help; `outcome`: their exit codes.
- What they share: `output` and `table_text` (printing), `record_lines`, `clock`, `moments`,
  `choices`, `option_files`, `redacting`, `seeds`, `interrupts`.
- `ingest`, `build`, `quality`, `report`, `publish`, `register`, `maintain` and `forget` are Spark
  applications, which spark-submit runs: each starts its command by `cli`, as `kraftlake` does, with
  the same options.
"""
