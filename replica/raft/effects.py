"""What a host must do after a step: it carries out the fields of Effects from the top, and finishes
each one before it begins the next. So a vote is on disk before the reply that grants it.

Only the flush may be done later. After an append a *flush is owed*: the host flushes when it likes,
so that several appends share one sync, and then reports Flushed. Meanwhile replies and sends go
out. Until the core hears of the flush, it holds back what may not be said before:

- a fetch, because it tells the leader that everything below its offset is on this disk, and a
  request for a vote, because voters compare the log that it describes
  (fetch_requests.awaits_flush);
- the commit of a leader's records, because the leader's own log counts only as far as it is flushed
  (Leader.counted).

A host that crashes in the middle has carried out the first of the fields and not the others, and
has lost what was not flushed. Every such state is safe.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum

from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import ElectionState, LeaderAndEpoch
from replica.model.voters import Endpoints
from replica.raft.messages import PeerRequest, PeerResponse


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """Bytes of a snapshot that is being fetched, to be written from byte `position` of its file on.
    After the last part the host freezes the snapshot and answers with SnapshotFetched or
    SnapshotRejected."""

    snapshot_id: OffsetAndEpoch
    position: int
    data: bytes
    is_last: bool


@dataclass(frozen=True, slots=True)
class LogRead:
    """Fill FetchResponse.data with whole batches from `start_offset` (inclusive) on, at most
    `max_bytes`, as FileLog.read gives them."""

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
    """A request to a peer. node_id: the id of a voter or leader, whose `endpoints` are given; or
    one of Config.bootstrap_ids, whose address the host knows."""

    node_id: int
    endpoints: Endpoints
    correlation_id: int
    message: PeerRequest


class Stopped(Enum):
    """How a shutdown ended."""

    GRACEFULLY = "gracefully"
    BY_TIMEOUT = "by timeout"


@dataclass(frozen=True, slots=True)
class Effects:
    """What the host has to do. A field that is None or empty asks for nothing.

    quorum_state: write this state durably. truncate_to: cut the log durably at this offset
    (exclusive), and answer with Truncated. reset_to: restart the log at this snapshot. append: add
    these batches at the log end; a flush is owed from then on. snapshot_parts: write these bytes of
    fetched snapshots. log_start: let the log start at this offset. delete_snapshots: remove these
    snapshots. load_snapshot: let the state machine load this snapshot. commit: give the state
    machine all batches below this offset. leader_change: tell the state machine of this leader or
    epoch. replies, sends: put these messages on the network, in any order. stopped: the shutdown is
    over.
    """

    quorum_state: ElectionState | None = None
    truncate_to: int | None = None
    reset_to: OffsetAndEpoch | None = None
    append: tuple[Batch, ...] = ()
    snapshot_parts: tuple[SnapshotPart, ...] = ()
    log_start: int | None = None
    delete_snapshots: tuple[OffsetAndEpoch, ...] = ()
    load_snapshot: OffsetAndEpoch | None = None
    commit: int | None = None
    leader_change: LeaderAndEpoch | None = None
    replies: tuple[Reply, ...] = ()
    sends: tuple[Send, ...] = ()
    stopped: Stopped | None = None


_NOTHING = Effects()


class EffectsRecorder:
    """Gathers the effects of one step while handlers work. Batches, snapshot parts and messages add
    up in the order of the calls; of any other field the last value counts.

    The recorder changes in place: a step records several effects, and a new frozen value for each
    of them took a sixth of the core's time.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._is_empty = True
        self.quorum_state: ElectionState | None = None
        self._truncate_to: int | None = None
        self._reset_to: OffsetAndEpoch | None = None
        self._append: list[Batch] = []
        self._parts: list[SnapshotPart] = []
        self._log_start: int | None = None
        self._delete_snapshots: tuple[OffsetAndEpoch, ...] = ()
        self._load_snapshot: OffsetAndEpoch | None = None
        self._commit: int | None = None
        self._leader_change: LeaderAndEpoch | None = None
        self.replies: list[Reply] = []
        self._sends: list[Send] = []
        self._stopped: Stopped | None = None

    def taken(self) -> Effects:
        """The effects since the last call."""
        if self._is_empty:
            return _NOTHING
        taken = Effects(
            self.quorum_state,
            self._truncate_to,
            self._reset_to,
            tuple(self._append),
            tuple(self._parts),
            self._log_start,
            self._delete_snapshots,
            self._load_snapshot,
            self._commit,
            self._leader_change,
            tuple(self.replies),
            tuple(self._sends),
            self._stopped,
        )
        self._clear()
        return taken

    def write_quorum_state(self, state: ElectionState) -> None:
        self._is_empty, self.quorum_state = False, state

    def truncate_to(self, end_offset: int) -> None:
        self._is_empty, self._truncate_to = False, end_offset

    def restart_at(self, snapshot_id: OffsetAndEpoch) -> None:
        """The log and the state machine go on at this snapshot."""
        self._is_empty, self._reset_to, self._load_snapshot = False, snapshot_id, snapshot_id

    def append(self, batches: Sequence[Batch]) -> None:
        self._is_empty = False
        self._append.extend(batches)

    def write(self, part: SnapshotPart) -> None:
        self._is_empty = False
        self._parts.append(part)

    def start_log_at(self, offset: int, gone: Sequence[OffsetAndEpoch]) -> None:
        """The log starts at `offset`; the snapshots `gone` lie behind it."""
        self._is_empty, self._log_start, self._delete_snapshots = False, offset, tuple(gone)

    def load(self, snapshot_id: OffsetAndEpoch) -> None:
        self._is_empty, self._load_snapshot = False, snapshot_id

    def commit(self, end_offset: int) -> None:
        self._is_empty, self._commit = False, end_offset

    def tell_leader(self, leader: LeaderAndEpoch) -> None:
        self._is_empty, self._leader_change = False, leader

    def reply(self, reply: Reply) -> None:
        self._is_empty = False
        self.replies.append(reply)

    def send(self, send: Send) -> None:
        self._is_empty = False
        self._sends.append(send)

    def stop(self, how: Stopped) -> None:
        self._is_empty, self._stopped = False, how
