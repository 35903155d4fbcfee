"""What a session asks, is answered and tells: frozen values, without wire versions."""

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


class ResetPolicy(Enum):
    """auto.offset.reset. EARLIEST is that of the replica being read, LATEST the leader's."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class FetchPosition:
    """offset: of the next record wanted. epoch: of the record before it, -1 while unknown (Kafka:
    SubscriptionState.FetchPosition)."""

    offset: int
    epoch: int = UNDEFINED_EPOCH


# What to ask, and whom.


@dataclass(frozen=True, slots=True)
class Fetch:
    """leader_epoch: as metadata has it, -1 for none; it fences (KIP-320). rack: what a leader may
    name a preferred replica by; empty where the leader itself is to serve."""

    node_id: int
    position: FetchPosition
    leader_epoch: int
    rack: str = ""


@dataclass(frozen=True, slots=True)
class EndOfEpoch:
    """OffsetForLeaderEpoch to the leader: where does position.epoch end?"""

    node_id: int
    position: FetchPosition
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class LookUpOffset:
    """ListOffsets: the earliest offset of a replica, or the leader's latest; never NONE."""

    node_id: int
    policy: ResetPolicy
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class RefreshMetadata:
    """Ask any node for leader, epoch and replicas."""


Ask: TypeAlias = Fetch | EndOfEpoch | LookUpOffset | RefreshMetadata


# What came of it.


@dataclass(frozen=True, slots=True)
class Fetched:
    """data: whole batches, the first of which may begin below the position; the last one may be
    cut short. high_watermark (exclusive), log_start (inclusive): of the replica that answered, -1
    where it doesn't tell. preferred: the node that the leader would rather have us read from."""

    error: ErrorCode = ErrorCode.NONE
    data: bytes = b""
    high_watermark: int = UNDEFINED_OFFSET
    log_start: int = UNDEFINED_OFFSET
    preferred: int | None = None


@dataclass(frozen=True, slots=True)
class EpochEnded:
    """end: exclusive; (-1, -1) where the leader doesn't know the epoch; None where the leader
    serves no such request, so that the position can't be validated."""

    error: ErrorCode = ErrorCode.NONE
    end: OffsetAndEpoch | None = None


@dataclass(frozen=True, slots=True)
class LookedUp:
    """offset: -1 where the replica can't tell yet. epoch: of the record there, -1 if not told."""

    error: ErrorCode = ErrorCode.NONE
    offset: int = UNDEFINED_OFFSET
    epoch: int = UNDEFINED_EPOCH


@dataclass(frozen=True, slots=True)
class Metadata:
    """partition: None where nobody answered, or there is no such partition (`error`).
    leader_epoch: -1 where the node doesn't tell it."""

    partition: PartitionView | None
    leader_epoch: int = UNDEFINED_EPOCH
    topic_id: str = ZERO_UUID
    error: ErrorCode = ErrorCode.NONE


Answer: TypeAlias = Fetched | EpochEnded | LookedUp | Metadata


# What the caller gets.


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """epoch: leader epoch of the record's batch. is_control: written by Kafka, not by a producer
    (a leader change, a voter set, a transaction's marker)."""

    record: Record
    epoch: int
    is_control: bool = False

    @property
    def offset(self) -> int:
        return self.record.offset


@dataclass(frozen=True, slots=True)
class Truncation:
    """Records that were read before `position` are gone from the leader's log.

    diverging: where that log parts from what was read, (end offset exclusive, epoch); reading goes
    on there. None where the leader can't tell: the OffsetReset that follows says where.
    """

    position: FetchPosition
    diverging: OffsetAndEpoch | None


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """The position was in the log no more; reading goes on where the reset policy says."""

    before: FetchPosition
    after: FetchPosition


Report: TypeAlias = Truncation | OffsetReset


@dataclass(frozen=True, slots=True)
class Polled:
    """Records in offset order, or reports of what changed before the next ones."""

    records: tuple[ConsumerRecord, ...] = ()
    reports: tuple[Report, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.records or self.reports)


class NoOffsetError(KraftlakeError):
    """auto.offset.reset is none and there is no position, or it isn't in the log (any more): seek
    (Kafka: NoOffsetForPartitionException, OffsetOutOfRangeException).

    position: None where there never was one. log_start (inclusive), high_watermark (exclusive): of
    the leader, -1 where it doesn't tell.
    """

    def __init__(
        self,
        position: FetchPosition | None,
        log_start: int = UNDEFINED_OFFSET,
        high_watermark: int = UNDEFINED_OFFSET,
    ) -> None:
        super().__init__(position, log_start, high_watermark)
        self.position = position
        self.log_start = log_start
        self.high_watermark = high_watermark

    def __str__(self) -> str:
        advice = "seek to an offset, or choose the reset policy earliest or latest"
        if self.position is None:
            return f"there is no offset to start from: {advice}"
        known = self.log_start >= 0 and self.high_watermark >= 0
        held = f", which is {self.log_start} to {self.high_watermark} (exclusive)" if known else ""
        return f"offset {self.position.offset} is not in the leader's log{held}: {advice}"


class LogTruncationError(KraftlakeError):
    """What Truncation tells, where the reset policy is none: seek, to `diverging` for one (Kafka:
    LogTruncationException)."""

    def __init__(self, position: FetchPosition, diverging: OffsetAndEpoch | None) -> None:
        super().__init__(position, diverging)
        self.position = position
        self.diverging = diverging

    def __str__(self) -> str:
        read = f"read up to offset {self.position.offset} in epoch {self.position.epoch}"
        if self.diverging is None:
            return f"{read}, but the leader's log doesn't know that epoch any more: seek"
        end = self.diverging
        return (
            f"{read}, but the leader's log parts from that at offset {end.offset}, where its epoch "
            f"{end.epoch} ends: seek there to go on"
        )


class ReadRefusedError(KraftlakeError):
    """TOPIC_AUTHORIZATION_FAILED: this principal may not read the topic."""

    def __str__(self) -> str:
        return "not allowed to read the topic: its Read and Describe rights are needed"
