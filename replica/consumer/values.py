"""The requests of a session, their answers, and the values that a reader gets, independent of the
protocol's versions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from replica.consumer.selector import PartitionView
from replica.errors import KraftlakeError
from replica.format.record import Record
from replica.model.epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET, OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ZERO_UUID
from replica.words import up_to


class ResetPolicy(Enum):
    """The values of auto.offset.reset."""

    EARLIEST = "earliest"
    """The earliest offset of the replica that is read."""
    LATEST = "latest"
    """The latest offset of the leader."""
    NONE = "none"
    """No offset: the caller must seek."""


@dataclass(frozen=True, slots=True)
class FetchPosition:
    """A position in the log (Kafka: SubscriptionState.FetchPosition)."""

    offset: int
    """The offset of the next record."""
    epoch: int = UNDEFINED_EPOCH
    """The epoch of the record before the position; -1 while it is unknown."""


# The requests of a session.


@dataclass(frozen=True, slots=True)
class Fetch:
    """Asks for records."""

    node_id: int
    position: FetchPosition
    leader_epoch: int
    """The leader epoch that the metadata names; -1 for none. The node refuses the request if it
    knows another epoch (KIP-320)."""
    rack: str = ""
    """The rack of this reader, by which the leader may name a preferred replica; empty to read from
    the leader."""


@dataclass(frozen=True, slots=True)
class EndOfEpoch:
    """Asks the leader where position.epoch ends (OffsetForLeaderEpoch)."""

    node_id: int
    position: FetchPosition
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class ListOffset:
    """Asks for the earliest offset of a replica, or for the latest offset of the leader
    (ListOffsets). The policy is never NONE."""

    node_id: int
    policy: ResetPolicy
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class RefreshMetadata:
    """Asks any node for the leader, its epoch and the replicas."""


Ask: TypeAlias = Fetch | EndOfEpoch | ListOffset | RefreshMetadata


# The answers to these requests.


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer to Fetch. `high_watermark` and `log_start` are values of the replica that
    answered; -1 if the answer doesn't have them."""

    error: ErrorCode = ErrorCode.NONE
    data: bytes = b""
    """The batches that were read. The first batch may begin below the position, and the last batch
    may be incomplete."""
    high_watermark: int = UNDEFINED_OFFSET
    """The high watermark (exclusive)."""
    log_start: int = UNDEFINED_OFFSET
    """The log start offset (inclusive)."""
    preferred: int | None = None
    """The replica that the leader chose for this reader; None if it chose none."""


@dataclass(frozen=True, slots=True)
class EpochEnded:
    """The answer to EndOfEpoch."""

    error: ErrorCode = ErrorCode.NONE
    end: OffsetAndEpoch | None = None
    """The end of the epoch (exclusive); (-1, -1) if the leader doesn't know the epoch; None if the
    leader doesn't know this request, so that the position can't be validated."""


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """The answer to ListOffset."""

    error: ErrorCode = ErrorCode.NONE
    offset: int = UNDEFINED_OFFSET
    """The offset; -1 if the replica doesn't know it yet."""
    epoch: int = UNDEFINED_EPOCH
    """The epoch of the record at the offset; -1 if the answer has none."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The answer to RefreshMetadata."""

    partition: PartitionView | None
    """The partition's metadata; None if no node answered, or if `error` says why the answer has
    none."""
    leader_epoch: int = UNDEFINED_EPOCH
    """The leader epoch; -1 if the answer has none."""
    topic_id: str = ZERO_UUID
    error: ErrorCode = ErrorCode.NONE


Answer: TypeAlias = Fetched | EpochEnded | ListedOffset | Metadata


# The values that a reader gets.


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """A record of the log."""

    record: Record
    epoch: int
    """The leader epoch of the record's batch."""
    is_control: bool = False
    """Whether Kafka itself wrote the record, not a producer: for example a leader change, a voter
    set or the marker of a transaction."""

    @property
    def offset(self) -> int:
        return self.record.offset


@dataclass(frozen=True, slots=True)
class Truncation:
    """A report that records which were read before `position` are missing from the leader's log."""

    position: FetchPosition
    diverging: OffsetAndEpoch | None
    """The end offset (exclusive) and the epoch at which the leader's log diverges from the records
    that were read. Reading continues at this offset. None if the leader doesn't know it; an
    OffsetReset then says where reading continues."""


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """A report that the log no longer holds the position `before`. Reading continues at `after`,
    the offset that the reset policy names."""

    before: FetchPosition
    after: FetchPosition


Report: TypeAlias = Truncation | OffsetReset


@dataclass(frozen=True, slots=True)
class Polled:
    """The result of a poll: records in the order of their offsets, or reports about events before
    the next records."""

    records: tuple[ConsumerRecord, ...] = ()
    reports: tuple[Report, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.records or self.reports)


class NoOffsetError(KraftlakeError):
    """There is no position, or the log doesn't hold the position, and auto.offset.reset is none.
    The caller has to seek (Kafka: NoOffsetForPartitionException, OffsetOutOfRangeException).

    position: the position that the log doesn't hold; None if there was no position.
    log_start: the leader's log start (inclusive); -1 if unknown.
    high_watermark: the leader's high watermark (exclusive); -1 if unknown.
    """

    def __init__(
        self,
        position: FetchPosition | None,
        log_start: int = UNDEFINED_OFFSET,
        high_watermark: int = UNDEFINED_OFFSET,
    ) -> None:
        said = "there is no offset to start from"
        if position is not None:
            known = log_start >= 0 and high_watermark >= 0
            held = f", which has offsets {log_start} to {high_watermark - 1}" if known else ""
            said = f"offset {position.offset} is not in the leader's log{held}"
        advice = "seek to an offset, or choose the reset policy earliest or latest"
        super().__init__(f"{said}: {advice}")


class LogTruncationError(KraftlakeError):
    """Records that were read are missing from the leader's log (see Truncation), and the reset
    policy is none. The caller has to seek, for example to `diverging` (Kafka:
    LogTruncationException)."""

    def __init__(self, position: FetchPosition, diverging: OffsetAndEpoch | None) -> None:
        read = f"read {up_to(position.offset)} in epoch {position.epoch}"
        log = "doesn't know that epoch any more: seek"
        if diverging is not None:
            log = (
                f"parts from that at offset {diverging.offset}, where its epoch {diverging.epoch} "
                "ends: seek there to go on"
            )
        super().__init__(f"{read}, but the leader's log {log}")
        self.diverging = diverging


class ReadRefusedError(KraftlakeError):
    """The principal may not read the topic (TOPIC_AUTHORIZATION_FAILED)."""

    def __str__(self) -> str:
        return "not allowed to read the topic: its Read and Describe rights are needed"
