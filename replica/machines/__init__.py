"""State machines behind the consensus core's port StateMachine.

- `opaque`: counts and hashes records whose bytes nobody looks into; or has no state, and writes no
  snapshots.
- `metadata`: replays Kafka's metadata records to an image.
"""
