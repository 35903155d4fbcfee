"""The entry points: the `kraftlake` command (cli) and the jobs that spark-submit runs."""
