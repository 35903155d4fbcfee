"""What a host must do after a step: it carries out what Effects.in_order gives, and finishes each
effect before it begins the next. So a vote is on disk before the reply that grants it.

Only the flush may be done later. After an append a *flush is owed*: the host flushes when it likes,
so that several appends share one sync, and then reports Flushed. Meanwhile replies and sends go
out. Until the host reports the flush, the core holds back:

- a fetch, because it tells the leader that everything below its offset is on this disk, and a
  request for a vote, because voters compare their logs with the log end in the request
  (fetch_requests.awaits_flush);
- the commit of a leader's records, because the leader's own log counts only as far as it is flushed
  (Leader.counted).

If a host crashes between two effects, the earlier effects are carried out, the later effects are
not, and what was not flushed is lost. The replica is safe after every such crash.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import ElectionState, LeaderAndEpoch
from replica.model.voters import Endpoints
from replica.raft.messages import PeerRequest, PeerResponse


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """Bytes of a fetched snapshot. The host writes them into the snapshot's file from byte
    `position` on. After the last part the host freezes the snapshot and answers with
    SnapshotFetched or SnapshotRejected."""

    snapshot_id: OffsetAndEpoch
    position: int
    data: bytes
    is_last: bool


@dataclass(frozen=True, slots=True)
class LogRead:
    """Fill FetchResponse.data with whole batches from `start_offset` (inclusive) on, at most
    `max_bytes`, within the limits of FileLog.read."""

    start_offset: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class SnapshotRead:
    """Fill FetchSnapshotResponse.data with `length` bytes of the snapshot, from byte `position`
    on."""

    snapshot_id: OffsetAndEpoch
    position: int
    length: int


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to inputs.Request; `read` names the bytes that the message lacks."""

    request_id: Hashable
    message: PeerResponse
    read: LogRead | SnapshotRead | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """A request to a peer."""

    node_id: int
    """The id of a voter or leader, which listens at `endpoints`; or an id of Config.bootstrap_ids,
    whose address the host knows."""
    endpoints: Endpoints
    correlation_id: int
    message: PeerRequest


class Stopped(Enum):
    """How a shutdown ended."""

    GRACEFULLY = "gracefully"
    BY_TIMEOUT = "by timeout"


@dataclass(slots=True)
class Effects:
    """What the host has to do. A field that is None or empty asks for nothing.

    Only the core changes this value, and only during the step: handlers fill in the fields of
    Outbox.effects, because a new frozen value for each effect took a sixth of the core's time.
    Raft.step returns the value at the end of the step, and the core begins a new one. After that
    the value never changes, so a host may keep it. A step that raises returns no value: the fields
    that it has filled in come with the next step.

    quorum_state: write this state durably.
    truncate_to: cut the log durably at this offset (exclusive), and answer with Truncated.
    reset_to: restart the log at this snapshot.
    append: add these batches at the log end; a flush is owed from then on.
    snapshot_parts: write these bytes of fetched snapshots.
    log_start: let the log start at this offset.
    delete_snapshots: remove these snapshots.
    load_snapshot: let the state machine load this snapshot.
    commit: give the state machine all batches below this offset.
    leader_change: note this new leader or epoch. The local replica is named as the leader only
        after its state machine got all records of earlier epochs.
    replies, sends: put these messages on the network, in any order.
    stopped: the shutdown is over; the value says how it ended.
    """

    quorum_state: ElectionState | None = None
    truncate_to: int | None = None
    reset_to: OffsetAndEpoch | None = None
    append: list[Batch] = field(default_factory=list)
    snapshot_parts: list[SnapshotPart] = field(default_factory=list)
    log_start: int | None = None
    delete_snapshots: tuple[OffsetAndEpoch, ...] = ()
    load_snapshot: OffsetAndEpoch | None = None
    commit: int | None = None
    leader_change: LeaderAndEpoch | None = None
    replies: list[Reply] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    stopped: Stopped | None = None

    def in_order(self) -> Iterator[tuple[str, Any]]:
        """The fields that ask for something, with their names, in the order in which a host has to
        carry them out."""
        for name, value in (
            ("quorum_state", self.quorum_state),
            ("truncate_to", self.truncate_to),
            ("reset_to", self.reset_to),
            ("append", self.append),
            ("snapshot_parts", self.snapshot_parts),
            ("log_start", self.log_start),
            ("delete_snapshots", self.delete_snapshots),
            ("load_snapshot", self.load_snapshot),
            ("commit", self.commit),
            ("leader_change", self.leader_change),
            ("replies", self.replies),
            ("sends", self.sends),
            ("stopped", self.stopped),
        ):
            if value or value == 0:  # an offset may be 0
                yield name, value
