"""The consensus core of KRaft without input or output: values in, one `Effects` value out.

A host feeds `Raft.step` with one input and the time in ms, carries out the effects in the order of
their fields, and calls again no later than `Raft.next_deadline`. The core reads no clock, draws no
random number of its own and holds no log bytes: it knows what a log looks like, not what is in it.

Values
- `ports`: what storage and state machines implement; what they exchange is in replica.model.
- `messages`: requests and responses of peers, without wire versions; `inputs`, `effects`, `config`.
- `roles`: one frozen value per epoch role; `transitions`: the one table of what may follow what.
- `log_state`: the view of the log; `connections`: one request in flight for each peer.

Work, all of it functions on the one mutable `core.Core`
- `raft`: start, step, deadlines; `dispatch`: from a message to its handler.
- `elections` (votes, pre-votes), `epochs` (begin, end), `leading`, `membership`, `describe`;
  `accumulator`: a leader's appends within the linger, gathered into batches.
- `serving`, `parked`: a leader's answers to fetches; `draft`: the same as FetchQuorumRecords.
- `fetching`, `fetch_requests`, `voter_updates`: the follower; `snapshots`, `log_start`.

Where Kafka's own core could stop for good, this one goes on: a replica stands in elections until
its removal is committed (`Core.may_stand`); an observer comes back to a leader that is none of its
bootstrap servers (`fetching`). Nobody asks again at once for what just taught it nothing.

Sources: KIP-595, 630, 853, 996, 1166; Kafka's raft module for what they leave open.
"""
