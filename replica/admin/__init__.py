"""An administrator's client of a quorum of kraftlake's or Kafka's nodes.

- `describing`: asks the leader to describe its quorum, through controllers or brokers.
- `quorum`: what the leader's description means; pure functions.
- `records`: makes batches of the records that an administrator gives; pure functions.
- `appending`: sends batches to the leader, one after the other, and returns the outcome of each.
"""
