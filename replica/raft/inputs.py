"""Everything that can happen to a replica: the values that `Raft.step` takes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.stored import SnapshotFacts
from replica.raft.messages import PeerRequest, PeerResponse


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed. The host gives this input no later than at `Raft.next_deadline`."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a peer or an administrator. The Reply has the same `request_id`, and may be an
    effect of a later step."""

    request_id: Hashable
    message: PeerRequest


@dataclass(frozen=True, slots=True)
class Response:
    """A peer's answer to the Send with this correlation id. The core ignores an answer that it
    doesn't wait for."""

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
    """One encoded batch of `record_count` records. `data` is the batch as it is on disk; its base
    offset and epoch don't matter, because the log sets them."""

    record_count: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Propose:
    """The state machine of the leader of `epoch` wants encoded batches to be appended at once: all
    of them, or none."""

    epoch: int
    batches: tuple[Proposal, ...]

    @property
    def record_count(self) -> int:
        return sum(batch.record_count for batch in self.batches)


@dataclass(frozen=True, slots=True)
class Append:
    """The state machine of the leader of `epoch` wants records to be appended. `values` holds one
    value for each record, and at least one.

    The records go into one batch, together with other appends within Config.append_linger_ms. The
    offsets of the records are known at once: the first record gets Raft.next_append_offset. A
    leader that resigns drops the records that it has not yet appended.
    """

    epoch: int
    values: tuple[bytes, ...]

    @property
    def record_count(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Flushed:
    """A flush that Effects asked for is done: the log is durable up to `end_offset` (exclusive).

    A flush must not be reported once a later truncation has cut the log.
    """

    end_offset: int


@dataclass(frozen=True, slots=True)
class Truncated:
    """The host has carried out Effects.truncate_to. This input comes before any other.

    The log now ends at `end_offset` (exclusive), which is lower than truncate_to if truncate_to was
    inside a batch.
    """

    end_offset: int


@dataclass(frozen=True, slots=True)
class SnapshotFrozen:
    """A snapshot of the local state machine is complete and durable. Other replicas may fetch the
    snapshot now."""

    facts: SnapshotFacts


@dataclass(frozen=True, slots=True)
class SnapshotFetched:
    """The fetched snapshot is complete, valid and durable."""

    facts: SnapshotFacts


@dataclass(frozen=True, slots=True)
class SnapshotRejected:
    """The fetched bytes are not a valid snapshot; the host has removed these bytes."""

    snapshot_id: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class Clean:
    """The host asks whether the log start may move up. `log_bytes`: the size of the log in bytes,
    without snapshots."""

    log_bytes: int


@dataclass(frozen=True, slots=True)
class Resign:
    """The state machine of the leader of `epoch` wants this leader to resign. An older epoch is
    ignored."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The replica should resign if it leads, and stop within `timeout_ms`. Effects.stopped says
    when the replica has stopped."""

    timeout_ms: int


HostReport = Flushed | Truncated | SnapshotFrozen | SnapshotFetched | SnapshotRejected | Shutdown
"""An input by which the host reports that it has carried out an effect, or asks the replica to
stop."""
Input = Tick | Request | Response | Failed | Propose | Append | Resign | Clean | HostReport
