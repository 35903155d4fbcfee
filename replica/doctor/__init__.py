"""Judges a cluster by the files of its nodes: Kafka's log directories, or captures of them. The
other packages of replica are a replica; they never import this package.

- `quorum`: what the logs of several replicas prove together: committed records, possible leaders,
  disks that went back to an older state.
- `check`: damage, and contradictions between directories. `health`: faults in the cluster by its
  metadata. `verdict`: the verdict from files, history and health together.
- `startup`: whether nodes start and join, by their settings and disks.
- `timeline`: past events, in order. `preflight`: the effect of a planned step. `rehearsal`: the
  captured quorum continues in the simulator.
- `restore`: configuration as Kafka's commands. `redacted`: directories without secrets. `watching`:
  a running cluster, observed continuously.
"""
