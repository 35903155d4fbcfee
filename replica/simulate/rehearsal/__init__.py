"""The rehearsal: the simulator loads captured directories of a quorum, and lets the quorum go on.

- `captured`: the directories as values. `step`: what is done to them; `scenario_file`: as TOML.
- `quorum`: one run. The seed decides when nodes start and how long messages take.
- `outcome`: the outcome of a run; `runs`: of many runs, equal outcomes together.
- `losing`: the smallest set of failures that loses committed records.

No client appends. Leaders append only the record that begins an epoch, and the voters that a step
changes. So an outcome shows what becomes of the captured records.
"""
