"""The concepts of KRaft as frozen values, each defined once. Every folder of replica may import
them.

- `keys`: node ids, directory ids and replicas; the name of the metadata topic.
- `epochs`: offsets and leader epochs; snapshot ids, and whether a snapshot is newer than a log.
- `voters`: voter sets. `control`: the records that the Raft layer writes into the log.
- `batch`: a record batch with its place in a log.
- `stored`: a replica's epoch, vote and leader; what an opened log holds.
- `kafka_errors`: Kafka's error names and numbers.

Offsets count records from 0. An *end* offset is exclusive, a *last* offset inclusive. An epoch is a
term of Raft (KIP-595).
"""
