"""The simulator: one seed decides everything that happens to a quorum, and what breaks is said.

- `simulation`: the run, a heap of events by time; `node`, `host`: a machine and
  the replica on it.
- `disk`, `network`, `nemesis`: what goes wrong; `invariants`: what must hold all the same.
"""
