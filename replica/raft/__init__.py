"""The consensus core of KRaft, which does no I/O: it takes values, and returns one `Effects` value.

A host feeds `Raft.step` with one input and the time in ms, carries out what `Effects.in_order`
gives, and calls again no later than `Raft.next_deadline`. The core reads no clock, draws no random
number of its own and holds no log bytes: it knows where the log's batches, epochs and snapshots
lie, but not what the records say.

What a host imports:
- `Raft`: one replica. `Config`: its settings.
- `inputs`: the module of all that can happen to a replica.
- `Effects`: what a step asks the host to do. `Send`, `Reply`: two of its parts, for the network.
- `messages`: the module of the requests and answers in them.
- `StateMachine`: what a host drives with the committed records.
- `Offence`: a message that no correct peer sends, with its sender; Raft counts it. `HostError`: a
  call that no correct host makes.
docs/explanation/a-host-in-sixty-lines.md has a whole host.

To read it in order:
- `inputs`: everything that can happen to a replica. `effects`: what a step asks the host to do, and
  what has to wait for a flush. `messages`: requests and responses of peers, without wire versions.
- `roles`: one frozen value for each role in an epoch, and what a leader knows about each replica's
  log. `transitions`: the table of all changes of role. `log_state`: the view of the log.
- `core`: the one mutable value that all handlers work on. Its parts are `view` (the facts),
  `epoch_bounds` (what peers say about epochs), `leader.work` (what a leader keeps) and `outbox`
  (what the host has to do).
- `raft`: how a replica starts, takes a step, and says when the next step is due. `dispatch`: which
  handler takes a message.
- `request_checks`: checks of what peers send. `mistakes`: what is wrong with illegal messages.
- `election`: votes and pre-votes. `quorum_epochs`: how a leader announces its epoch and resigns.
- `leader`: `leading` (begin, appends, resignation), `replication` (answers to fetches, the high
  watermark), `work` (with the progress of observers), `parked` (fetches that wait) and
  `accumulator` (appends within the linger), `voter_changes`, `describing`, and `draft`: fetches of
  KIP-595's draft.
- `follower`: `fetching` (what a follower does with a leader's answers), `fetch_requests`,
  `voter_updates`.
- `snapshots` and `log_start` serve leaders and followers alike. `ports`: the state machine.
  `config`: the settings. `connections`: one request in flight for each peer.

Three offsets (exclusive) say what is committed. Below `Core.committed` this replica knows all
records to be committed. `high_watermark` is the value that this replica sends to others: a new
leader sends none until a record of its own epoch is committed. `leader_watermark` is the value that
the leader has sent to a follower, and may lie above the follower's log end.

In two situations a quorum of Kafka's own core stops for good, and a quorum of this core goes on. A
removed voter stands in elections until its removal is committed (`Core.may_stand`). An observer
finds its leader again even if the leader is not among its bootstrap servers (`follower.fetching`).
A replica that learned nothing new from an answer waits before it asks again.

Sources: KIP-595, 630, 853, 996 and 1166, and Kafka's raft module for what these KIPs leave open.
"""

from __future__ import annotations

from replica.raft import inputs, messages
from replica.raft.config import Config
from replica.raft.effects import Effects, Reply, Send
from replica.raft.mistakes import HostError, Offence
from replica.raft.ports import StateMachine
from replica.raft.raft import Raft

__all__ = [
    "Config",
    "Effects",
    "HostError",
    "Offence",
    "Raft",
    "Reply",
    "Send",
    "StateMachine",
    "inputs",
    "messages",
]
