"""The words of KRaft as frozen values, each of them once; every folder of replica may import them.

- `keys`: which replica. `topic`: the topic of a cluster's metadata.
- `epochs`: offsets and leader epochs. `snapshot_id`: what names a snapshot, and when one is newer
  than a log.
- `voters`: who votes. `control`: the records that the Raft layer writes into the log.
- `batch`: a record batch with its place in a log. `log_facts`: what an opened log holds.
- `election_state`: what a replica must never forget.
- `kafka_errors`: Kafka's error names and numbers.

Offsets count records from 0. An *end* offset is exclusive, a *last* offset inclusive. An epoch is a
term of Raft (KIP-595).
"""
