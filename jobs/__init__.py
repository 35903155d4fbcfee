"""What spark-submit starts, and below `cli` the `kraftlake` command.

`ingest`, `build`, `quality`, `report`, `publish`, `register`, `maintain` and `forget` are Spark
applications: each starts the command of its name, with the same options.
"""
