"""The simulator: one seed decides everything that happens to a quorum. A broken invariant ends the
run.

- `simulation`: the run; `schedule`: its events by time; `workload`: the appended records.
- `node`, `host`: a machine, and the replica on it.
- `disk`, `network`, `nemesis`: the faults.
- `invariants`: what must hold in spite of the faults; `broken` explains their names. `elections`,
  `appends` and `ledger`: what `invariants` remembers of votes, of clients and of logs.
- `node_files`: a node's disk made from bytes, and read back.
- `coverage`: what a run has reached; `guided`: a campaign that goes on from what it reached.
- `rehearsal`: captured directories of a quorum, which goes on from there.
- `scenarios`: scripted runs without chance, written as log directories.
"""
