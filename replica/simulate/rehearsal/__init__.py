"""The rehearsal: captured directories of a quorum, loaded into the simulator and run on.

- `captured`: the directories as values. `step`: what is done to them, `scenario_file`: as TOML.
- `quorum`: one run. The seed decides when nodes start and how long messages take.
- `outcome`: the outcome of a run; `runs`: those of many runs, equal outcomes together.
- `losing`: the smallest set of failures that loses what was committed.

Only leaders append, and only what they append by themselves: the record that begins an epoch, and
the voters that a step changes. So an outcome tells what becomes of the records that are there.
"""
