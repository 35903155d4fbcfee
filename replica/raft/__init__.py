"""The consensus core of KRaft without input or output: values in, one `Effects` value out.

A host feeds `Raft.step` with one input and the time in ms, carries out the effects in the order of
their fields, and calls again no later than `Raft.next_deadline`. The core reads no clock, draws no
random number of its own and holds no log bytes: it knows what a log looks like, not what is in it.

- `ports`: what storage and state machines implement; `voters`, `batch`: the values they exchange.
- `messages`: requests and responses of peers, without wire versions; `inputs`, `effects`.
- `roles`: one frozen value per epoch role; `transitions`: the one table of what may follow what.
- `log_state`: the view of the log; `connections`: one request in flight for each peer.

Sources: KIP-595, 630, 853, 996; Kafka's raft module for what they leave open.
"""
