"""Compares replicas' logs, and derives what they prove. All functions are pure: they do no I/O, and
read no clock.

- `log`: a replica's log as a value, and the order in which elections prefer logs.
- `epochs`: the leader-epoch cache, and the two ways to look up an epoch in it.
- `fetch`, `reader`: the leader's answer to a replica, to the draft FetchQuorumRecords, to a reader.
- `truncation`: what a follower does with a diverging answer, and the whole protocol until the logs
  agree.
- `divergence`: two logs compared, batch by batch.
- `voters`: the voter set in force at an entry. `commitment`: which entries are proven, superseded
  or unproven.
- `watermark`: the high watermark. `ranges`: sets of offsets.

Each rule names its source: KIP-595, 630 or 853, a class of Kafka, or Raft's paper. The tests name
the corresponding cases of Kafka's own tests (see tests/scenarios/COVERAGE.md).
"""
