"""The rehearsal: the simulator loads captured directories of a quorum, and runs that quorum.

- `captured`: the directories as values. `step`: the steps that are done to them; `scenario_file`:
  reads and writes the steps as TOML.
- `quorum`: one run. The seed decides when nodes start and how long messages take. `watch`: how much
  of each captured log is left.
- `outcome`: the outcome of one run. `runs`: the distinct outcomes of many runs.
- `losing`: the smallest set of failures that loses committed records.

No client appends. Leaders append only LeaderChange records, and voter sets that a step changes. So
an outcome shows which captured records are kept and which are lost.
"""
