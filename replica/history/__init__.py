"""What replicas' logs say about each other: pure functions, no input or output, no clock.

- `log`: a replica's log as a value; newest-log order of elections.
- `epochs`: the leader-epoch cache and its two lookups (seed 004, KafkaMetadataLog).
- `fetch`, `reader`: the leader's answer to a replica, to the draft FetchQuorumRecords, to a reader.
- `truncation`: what a follower does with a diverging answer; the protocol run to its end.
- `divergence`: two logs compared, batch by batch.
- `voters`: which voter set is in force where. `commitment`: proven, superseded, unproven.
- `branch`: the agreed branch of a group. `watermark`: the high watermark.
- `progress`: how far each replica of a group is.

Definitions are those of the design's section 4; KIP-595, 630, 853 and Kafka's classes are cited
where a rule comes from.
"""
