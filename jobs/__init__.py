"""What spark-submit starts, and below `cli` the `kraftlake` command.

- The pipeline's jobs: `ingest`, `build`, `quality`, `maintain`, `publish`. Each has a function
  `main(spark, arguments)`; the command of the same name runs it, too.
- `follow`: a stream that runs ingest and build whenever a log has changed.
- `register`, `report`, `forget` start the command of their name.

The options are those of the commands; jobs.cli.commands has them.
"""
