"""State machines behind the consensus core's port StateMachine.

- `opaque`: bytes nobody looks into, counted and hashed.
- `metadata`: Kafka's metadata records, replayed to an image.
- `recording`: no state; it writes no snapshots.
"""
