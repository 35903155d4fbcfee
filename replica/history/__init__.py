"""Computes what replicas' logs say about each other. All functions are pure: they do no I/O, and
read no clock.

- `log`: a replica's log as a value, and the order in which elections prefer logs.
- `epochs`: the leader-epoch cache, and the two ways to look up an epoch in it.
- `fetch`, `reader`: the leader's answer to a replica, to the draft FetchQuorumRecords, to a reader.
- `truncation`: what a follower does with a diverging answer, and the whole protocol, run to its
  end.
- `divergence`: two logs compared, batch by batch.
- `voters`: which voter set is in force at which entry. `commitment`: which entries are proven,
  superseded or unproven.
- `watermark`: the high watermark. `ranges`: sets of offsets.

Each rule names where it comes from: KIP-595, 630 or 853, a class of Kafka, or Raft's paper. The
tests name the cases of Kafka's own tests that they show: see tests/scenarios/COVERAGE.md.
"""
