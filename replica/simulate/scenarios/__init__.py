"""Named scenarios: what has happened to real KRaft clusters, played by the engine on simulated
disks and written as Kafka's log directories.

- `library`: all of them; a family each in `elections`, `controller`, `divergence`, `membership`,
  `snapshots`, `damage`.
- `scenario`: what a scenario is; `quorum`: what its script may do; `records`: what it writes.
- `tampering`: for what no correct engine writes; `writing`: from the disks to a folder.
"""
