"""State machines behind the consensus core's port StateMachine.

- `opaque`: bytes nobody looks into, counted and hashed; or no state, and no snapshots.
- `metadata`: Kafka's metadata records, replayed to an image.
"""
