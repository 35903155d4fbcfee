"""What a host must do after a step, field by field from the top: the order is the safety.

A vote is on disk before the reply that grants it; records are cut, appended and flushed before a
fetch tells the leader so. A host that stops in the middle (a crash) has done a prefix, and every
prefix is safe.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum

from replica.model.batch import Batch
from replica.model.election_state import ElectionState, LeaderAndEpoch
from replica.model.epochs import OffsetAndEpoch
from replica.model.voters import Endpoints
from replica.raft.messages import PeerRequest, PeerResponse


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """Bytes of a snapshot being fetched. After the last part the host freezes it and answers with
    SnapshotFetched or SnapshotRejected."""

    snapshot_id: OffsetAndEpoch
    position: int
    data: bytes
    is_last: bool


@dataclass(frozen=True, slots=True)
class LogRead:
    """Fill FetchResponse.batches: whole batches from `start_offset` (inclusive), as Log.read."""

    start_offset: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class SnapshotRead:
    """Fill FetchSnapshotResponse.data: `length` bytes from `position`."""

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
    """A request to a peer. node_id: a voter's or leader's with its endpoints, or one of
    Config.bootstrap_ids, whose address the host knows."""

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
    """None or empty means nothing to do.

    quorum_state: write, durably. truncate_to: cut the log to this end (exclusive), durably, then
    say Truncated. reset_to: restart the log at this snapshot. append: at the log end. flush: then
    say Flushed. snapshot_parts: write. log_start: let the log start there. delete_snapshots:
    remove. load_snapshot: let the state machine load it. commit: hand it all batches below this
    offset. leader_change: tell it. replies, sends: to the network, in any order. stopped: the end
    of a shutdown.
    """

    quorum_state: ElectionState | None = None
    truncate_to: int | None = None
    reset_to: OffsetAndEpoch | None = None
    append: tuple[Batch, ...] = ()
    flush: bool = False
    snapshot_parts: tuple[SnapshotPart, ...] = ()
    log_start: int | None = None
    delete_snapshots: tuple[OffsetAndEpoch, ...] = ()
    load_snapshot: OffsetAndEpoch | None = None
    commit: int | None = None
    leader_change: LeaderAndEpoch | None = None
    replies: tuple[Reply, ...] = ()
    sends: tuple[Send, ...] = ()
    stopped: Stopped | None = None
