"""Runs the stages of the pipeline: `spark` in executors of Spark, `local` in threads and processes
of this machine. Both run the same functions by the same `attempt`.

- `stage`: a stage is a function, the grain of its units, and the tables that it reads and writes.
- `runner`: what both runners do alike: each stage's row in the summary, and errors of tasks.
- `attempt`: one unit, done in a task. `chosen`: which of the two runners a job uses.
"""
