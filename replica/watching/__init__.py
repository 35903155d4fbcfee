"""Watches a running quorum through an observer of it: its records, its leader and its health.

- `committed`: the committed records, replayed in slices as they arrive, and counted by type.
- `judged`: the rules of health over the replayed state, every few seconds at most.
- `described`: what the leader says of the quorum and of its newest snapshot.
- `metrics`: all of it for Prometheus.
- `watch`: the tasks that keep it up to date beside a node.

A question is answered at once, with what was known last and how old it is.
"""
