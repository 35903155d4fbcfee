"""The simulator: one seed decides everything that happens to a quorum. A broken invariant ends the
run.

- `simulation`: a simulated quorum with its clients. `schedule`: its events in the order of time.
  `workload`: the records that clients append. `metadata_records`: the records that controllers
  write.
- `node`, `host`: a simulated machine, and the replica on it.
- `faulty_run`: a run under random faults. `disk`, `network`, `nemesis`: the faults.
- `invariants`: checks what must hold despite the faults; `broken` explains the invariants' names.
  `elections`, `appends` and `ledger`: the votes, appends and logs that `invariants` remembers.
  `check_quorum`: checks leaders without a quorum.
- `node_files`: makes a node's disk from bytes, and reads the bytes of a disk.
- `coverage`: notes the situations that a run has reached, and counts them over a campaign.
  `guided`: a campaign whose runs continue from situations that earlier runs reached.
- `scenarios`: plays scripts without random events, and writes their log directories.
"""
