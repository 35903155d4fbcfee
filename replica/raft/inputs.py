"""Everything that can happen to a replica: the values `Raft.step` takes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.stored import SnapshotFacts
from replica.raft.messages import PeerRequest, PeerResponse


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed; due no later than `Raft.next_deadline`."""


@dataclass(frozen=True, slots=True)
class Request:
    """A peer or an administrator asks; `request_id` names the Reply, which may come later."""

    request_id: Hashable
    message: PeerRequest


@dataclass(frozen=True, slots=True)
class Response:
    """A peer's answer to the Send with this correlation id. The core ignores one that it doesn't
    wait for."""

    node_id: int
    correlation_id: int
    message: PeerResponse


@dataclass(frozen=True, slots=True)
class Failed:
    """A Send got no answer: BROKER_NOT_AVAILABLE (no connection, connection lost),
    UNSUPPORTED_VERSION (the peer lacks the request), or CLUSTER_AUTHORIZATION_FAILED."""

    node_id: int
    correlation_id: int
    error: ErrorCode = ErrorCode.BROKER_NOT_AVAILABLE


@dataclass(frozen=True, slots=True)
class Proposal:
    """One encoded batch of `record_count` records. The base offset and epoch in it don't matter:
    the log sets them."""

    record_count: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Propose:
    """The leader of `epoch` is to append encoded batches now: all of them, or none."""

    epoch: int
    batches: tuple[Proposal, ...]

    @property
    def record_count(self) -> int:
        return sum(batch.record_count for batch in self.batches)


@dataclass(frozen=True, slots=True)
class Append:
    """The state machine of the leader of `epoch` has records: their values, at least one.

    They go into one batch, together with other appends within Config.append_linger_ms. Their
    offsets are known at once: Raft.next_append_offset is the first one's. A leader that resigns
    drops the records that it has not yet appended.
    """

    epoch: int
    values: tuple[bytes, ...]

    @property
    def record_count(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Flushed:
    """The flush that was owed is done: the log is durable up to `end_offset` (exclusive).

    A flush must not be reported once a later truncation has cut the log.
    """

    end_offset: int


@dataclass(frozen=True, slots=True)
class Truncated:
    """The answer to Effects.truncate_to, which comes before any other input.

    The log now ends at `end_offset` (exclusive). That is lower than truncate_to where truncate_to
    lay inside a batch.
    """

    end_offset: int


@dataclass(frozen=True, slots=True)
class SnapshotFrozen:
    """The local state machine's snapshot is complete and durable."""

    facts: SnapshotFacts


@dataclass(frozen=True, slots=True)
class SnapshotFetched:
    """The snapshot that was being fetched is complete, valid and durable."""

    facts: SnapshotFacts


@dataclass(frozen=True, slots=True)
class SnapshotRejected:
    """The fetched bytes are no valid snapshot; the host has removed them."""

    snapshot_id: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class Clean:
    """It is time to see whether the log may start later. `log_bytes`: the size of the log, without
    snapshots."""

    log_bytes: int


@dataclass(frozen=True, slots=True)
class Resign:
    """The state machine of the leader of `epoch` wants it to resign. An older epoch is ignored."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The replica is to stop in order, within `timeout_ms`. Effects.stopped says when it has."""

    timeout_ms: int


Input = (
    Tick
    | Request
    | Response
    | Failed
    | Propose
    | Append
    | Flushed
    | Truncated
    | SnapshotFrozen
    | SnapshotFetched
    | SnapshotRejected
    | Clean
    | Resign
    | Shutdown
)
