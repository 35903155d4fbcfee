"""The rehearsal: captured directories of a quorum, loaded into the simulator, run on from there.

- `captured`: the directories as values. `step`: what is done to them, `scenario_file`: as TOML.
- `quorum`: one run, in which the seed decides when nodes start and what messages take.
- `outcome`: what came of a run; `runs`: of many, those with one outcome together.
- `losing`: the smallest set of failures that loses what was committed.

Nothing is appended but what a leader appends by itself: the record that begins its epoch, and the
voters that a step changes. So an outcome tells what becomes of the records that are there.
"""
