"""The requests of a session, the answers to them, and the values that a reader gets. None of them
depends on a version of the protocol."""

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
    """The epoch of the record before the position; -1 while that is unknown."""


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
    """The rack of this reader, by which the leader may name a preferred replica; empty to be served
    by the leader itself."""


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
    """The answer to Fetch. high_watermark and log_start are those of the replica that answered; -1
    where the answer doesn't have them."""

    error: ErrorCode = ErrorCode.NONE
    data: bytes = b""
    """The batches that were read. The first batch may begin below the position, and the last batch
    may be cut off."""
    high_watermark: int = UNDEFINED_OFFSET
    """The high watermark (exclusive)."""
    log_start: int = UNDEFINED_OFFSET
    """The log start offset (inclusive)."""
    preferred: int | None = None
    """The replica that the leader chose for this reader."""


@dataclass(frozen=True, slots=True)
class EpochEnded:
    """The answer to EndOfEpoch."""

    error: ErrorCode = ErrorCode.NONE
    end: OffsetAndEpoch | None = None
    """The end of the epoch (exclusive); (-1, -1) where the leader doesn't know the epoch; None
    where the leader doesn't know this request, so that the position can't be validated."""


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """The answer to ListOffset."""

    error: ErrorCode = ErrorCode.NONE
    offset: int = UNDEFINED_OFFSET
    """The offset; -1 where the replica doesn't know it yet."""
    epoch: int = UNDEFINED_EPOCH
    """The epoch of the record at the offset; -1 where the answer has none."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The answer to RefreshMetadata."""

    partition: PartitionView | None
    """The partition's metadata; None where no node answered, or where `error` says that there is no
    such partition."""
    leader_epoch: int = UNDEFINED_EPOCH
    """The leader epoch; -1 where the answer has none."""
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
    """Whether Kafka itself wrote the record, and no producer. Such records are, for example, leader
    changes, voter sets and the markers of transactions."""

    @property
    def offset(self) -> int:
        return self.record.offset


@dataclass(frozen=True, slots=True)
class Truncation:
    """Records that were read before `position` are gone from the leader's log."""

    position: FetchPosition
    diverging: OffsetAndEpoch | None
    """The end offset (exclusive) and the epoch at which the leader's log diverges from the records
    that were read. Reading goes on there. None where the leader can't tell; an OffsetReset then
    says where reading goes on."""


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """The log doesn't hold the position `before` any more. Reading goes on at `after`, the offset
    that the reset policy names."""

    before: FetchPosition
    after: FetchPosition


Report: TypeAlias = Truncation | OffsetReset


@dataclass(frozen=True, slots=True)
class Polled:
    """The result of a poll: records in the order of their offsets, or reports of what happened
    before the next records."""

    records: tuple[ConsumerRecord, ...] = ()
    reports: tuple[Report, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.records or self.reports)


class NoOffsetError(KraftlakeError):
    """There is no position, or the log doesn't hold the position, and auto.offset.reset is none.
    The caller has to seek (Kafka: NoOffsetForPartitionException, OffsetOutOfRangeException).

    position: the position that the log doesn't hold; None where there never was one. log_start
    (inclusive), high_watermark (exclusive): those of the leader; -1 where they aren't known.
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
    """Records that were read are gone from the leader's log (see Truncation), and the reset policy
    is none. The caller has to seek, for example to `diverging` (Kafka: LogTruncationException)."""

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
