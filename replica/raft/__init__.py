"""The consensus core of KRaft without input or output: values in, one `Effects` value out.

A host feeds `Raft.step` with one input and the time in ms, carries out the effects in the order of
their fields, and calls again no later than `Raft.next_deadline`. The core reads no clock, draws no
random number of its own and holds no log bytes: it knows what a log looks like, not what is in it.

To read it in order
- `raft`: start, step, deadlines. `core`: the one mutable value that all handlers work on.
- `effects`: what a step asks the host for, and what waits for a flush. `inputs`: what can happen.
- `messages`: requests and responses of peers, without wire versions; `dispatch`: from a message to
  its handler.
- `log_state`: the view of the log. `roles`: one frozen value for each role in an epoch;
  `transitions`: the table of all changes of role.
- `election`: votes and pre-votes. `quorum_epochs`: how a leader announces its epoch and resigns.
- `leader`: `leading` (begin, appends, resignation), `replication` (answers to fetches, the high
  watermark), `accumulator` (appends within the linger), `voter_changes`, `describing`, and `draft`:
  fetches of KIP-595's draft.
- `follower`: `fetching` (what a follower does with a leader's answers), `fetch_requests`,
  `voter_updates`.
- `snapshots` and `log_start` are for leaders and followers. `ports`: what a host plugs in.
  `config`; `connections`: one request in flight for each peer; `request_checks`, `epoch_bounds`:
  checks of what peers send.

Two situations stop Kafka's own core for good, and not this one: here a replica stands in elections
until its removal is committed (`Core.may_stand`), and an observer comes back to a leader that is
none of its bootstrap servers (`follower.fetching`). A replica that learned nothing from an answer
waits before it asks again.

Sources: KIP-595, 630, 853, 996, 1166; Kafka's raft module for what they leave open.
"""
