"""The `kraftlake` command: cli, and a folder for each group of commands that its help shows.

build.py, ingest.py and the other files with a command's name are Spark applications, which
spark-submit runs: each starts its command by cli, as `kraftlake` does, with the same options.
"""
