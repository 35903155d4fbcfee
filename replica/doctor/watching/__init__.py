"""Watches a running quorum through an observer: its records, its leader and its health.

- `committed`: replays the committed records in slices as they arrive, and counts them by type.
- `judged`: checks the rules of health over the replayed state, at most every few seconds.
- `described`: asks the leader about the quorum and about its newest snapshot.
- `metrics`: gives all of this as metrics for Prometheus.
- `watch`: the tasks beside a node that update all of this.

A query never waits: it gets the last known values with their age.
"""
