"""State machines behind the consensus core's port StateMachine.

- `opaque`: counts and hashes batches without decoding their records; or has no state, and writes no
  snapshots.
- `metadata`: replays Kafka's metadata records to an image.
"""
