"""The rehearsal: the simulator loads captured directories of a quorum, and lets that quorum run on.

- `captured`: the directories as values. `step`: the steps that are done to them; `scenario_file`:
  reads and writes the steps as TOML.
- `quorum`: one run. The seed decides when nodes start and how long messages take. `watch`: how
  much of each captured log is left.
- `outcome`: the outcome of one run. `runs`: the outcomes of many runs, where equal ones count as
  one.
- `losing`: the smallest set of failures that loses committed records.

No client appends. Leaders append only the record that begins an epoch, and voter sets that a step
changes. So an outcome shows what becomes of the captured records.
"""
