"""The simulator: one seed decides everything that happens to a quorum, and what breaks is said.

- `simulation`: the run; `schedule`: its events by time; `workload`: what is replicated.
- `node`, `host`: a machine and the replica on it.
- `disk`, `network`, `nemesis`: what goes wrong.
- `invariants`: what must hold all the same, by names that `broken` explains; `elections`, `appends`
  and `ledger`: what it remembers of votes, of clients and of logs.
- `node_files`: from bytes to a node's disk and back.
- `rehearsal`: captured directories, run on from there.
- `scenarios`: runs in which nothing is left to chance, written as log directories.
"""
