"""What replicas' logs say about each other: pure functions, no input or output, no clock.

- `log`: a replica's log as a value; newest-log order of elections.
- `epochs`: the leader-epoch cache and its two lookups.
- `fetch`, `reader`: the leader's answer to a replica, to the draft FetchQuorumRecords, to a reader.
- `truncation`: what a follower does with a diverging answer; the protocol run to its end.
- `divergence`: two logs compared, batch by batch.
- `voters`: which voter set is in force where. `commitment`: proven, superseded, unproven.
- `branch`: the agreed branch of a group. `watermark`: the high watermark.
- `progress`: how far each replica of a group is.

Each rule names where it comes from: KIP-595, 630 or 853, a class of Kafka, or Raft's paper. The
tests name the cases of Kafka's own tests that they show: see tests/scenarios/COVERAGE.md.
"""
