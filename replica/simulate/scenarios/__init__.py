"""Named scenarios: incidents of real KRaft clusters. The engine plays them on simulated disks, and
writes them as Kafka's log directories.

- `library`: all scenarios. Their families are in `elections`, `controller`, `divergence`,
  `membership`, `snapshots` and `damage`.
- `scenario`: the type of a scenario; `quorum`: the commands of its script.
- `tampering`: changes of files that no correct engine makes. `writing`: writes the disks to a
  folder.
"""
