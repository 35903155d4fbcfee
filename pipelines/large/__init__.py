"""The records of a cluster that isn't small, read and replayed by tasks, which Spark's workers are.

- `clusters`: what the build's own process reads of bronze, and what the tasks found, for the
  functions that make the tables of one cluster.
- `log`: the records as a task reads them, by delta-rs, a piece of the agreed branch at a time.
- `replay`: which offsets can be replayed, found by tasks; then the replay in parts: each task
  writes data files of the tables that have a row for each record.
- `health`: the health in the newest state, for which a worker holds that state.
"""
