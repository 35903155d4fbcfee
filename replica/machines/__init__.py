"""State machines behind the consensus core's port StateMachine.

- `opaque`: two machines that don't decode records. OpaqueMachine counts and hashes batches.
  RecordingMachine has no state, and writes no snapshots.
- `metadata`: replays Kafka's metadata records to an image.
"""
