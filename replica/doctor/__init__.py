"""What judges a cluster by the files that its nodes left: Kafka's log directories, as they are or
as a capture holds them. The packages beside this one are a replica; nothing in them imports this
one.

- `quorum`: what the logs of several replicas prove together: which records are committed, who may
  lead, whose disk went back.
- `check`: damage, and what directories say of each other. `health`: what the metadata says is wrong
  in the cluster. `verdict`: the one verdict that files, history and health decide together.
- `startup`: whether nodes start and join, by their settings and disks.
- `timeline`: what happened, in order. `preflight`: what a planned step would do.
  `rehearsal`: the captured quorum runs on in the simulator.
- `restore`: configuration as Kafka's commands. `redacted`: directories without secrets.
  `watching`: a running cluster, asked again and again.
"""
