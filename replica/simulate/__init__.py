"""The simulator: one seed decides everything that happens to a quorum. A broken promise ends the
run.

- `simulation`: the run; `schedule`: its events by time; `workload`: what is replicated.
- `node`, `host`: a machine and the replica on it.
- `disk`, `network`, `nemesis`: the faults.
- `invariants`: what must hold in spite of the faults; `broken` explains their names.
  `elections`, `appends` and `ledger`: what it remembers of votes, of clients and of logs.
- `node_files`: a node's disk made from bytes, and read back.
- `rehearsal`: captured directories, run on from where they are.
- `scenarios`: runs without chance, written as log directories.
"""
