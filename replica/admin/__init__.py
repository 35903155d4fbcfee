"""An administrator's client of a quorum, kraftlake's or Kafka's own.

- `quorum`: what a leader tells of its quorum, and what that means; pure.
- `describing`: asks for it, through controllers or brokers.
- `records`: batches out of what is to be appended; pure.
- `appending`: Produce to the leader, one batch after the other, with every outcome told.
"""
