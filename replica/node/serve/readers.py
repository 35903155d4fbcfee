"""Answers OffsetForLeaderEpoch and ListOffsets of clients, which may read the log from any replica
(KIP-320, KIP-392). Fetch is in `reader_fetch`.

Readers see only what is committed: for them the log ends at the high watermark. The log is searched
for a time in steps; other requests are answered between the steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from replica.history.epochs import end_offset_for, epoch_for_offset
from replica.model.epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from replica.model.kafka_errors import ErrorCode
from replica.node.serve.partition import ServedPartition
from replica.node.serve.shape import each_partition
from replica.node.translate import clients
from replica.wire.apis.fetching import Timestamp
from replica.wire.schema import Message

STEP_BATCHES, STEP_BYTES = 256, 1024 * 1024
"""The bounds of one step, in batches and in bytes. A step ends at whichever bound it reaches first,
after some milliseconds."""


class At(NamedTuple):
    """timestamp: ms since the epoch. offset: the base offset of the batch with this timestamp."""

    timestamp: int
    offset: int


async def by_time(partition: ServedPartition, timestamp: int, address: str) -> At | None:
    """The first committed record whose time is `timestamp` (ms) or later; for NEWEST_RECORD the
    newest record. None where there is none.

    All records of a KRaft batch have one append time, so a batch is found by its largest timestamp,
    and the offset is the batch's base offset.

    The log is read up to the high watermark as it was at the start of the search. Each further step
    waits for the next turn of the reader at `address` (see Turns).
    """
    newest: At | None = None
    position, end = partition.readable.start, partition.readable.end
    while position < end:
        # The log start may have moved during the wait.
        position = max(position, partition.readable.start)
        count = size = 0
        for batch in partition.log.batches(position, end):
            found = At(batch.timestamp, batch.base_offset)
            if timestamp != Timestamp.NEWEST_RECORD and found.timestamp >= timestamp:
                return found
            if newest is None or found.timestamp > newest.timestamp:
                newest = found
            position, count, size = batch.end_offset, count + 1, size + len(batch.data)
            if count >= STEP_BATCHES or size >= STEP_BYTES:
                break
        if not count:
            break
        if position < end:
            await partition.turn(address)
    return newest if timestamp == Timestamp.NEWEST_RECORD else None


CONSUMER = -1
_TIERED = (Timestamp.LATEST_TIERED, Timestamp.EARLIEST_PENDING_UPLOAD)


class _NotSearchedError(Exception):
    """The log has to be searched for this timestamp before the request can be answered."""

    def __init__(self, timestamp: int) -> None:
        super().__init__(timestamp)
        self.timestamp = timestamp


def offset_for_leader_epoch(partition: ServedPartition, request: Message) -> Message:
    """The answer to OffsetForLeaderEpoch: the offset (exclusive) where an epoch ends. For a
    consumer it is at most the high watermark (KIP-392).

    Epoch and offset are (-1, -1) where the log has no such epoch. While the high watermark is
    unknown, a consumer gets OFFSET_NOT_AVAILABLE and asks again: from (-1, -1) it would conclude
    that its position was truncated.
    """
    replica_id = request.get("replicaId", CONSUMER)

    def answer(asked: Message) -> Message:
        error = _leader_error(partition, asked.get("currentLeaderEpoch", UNDEFINED_EPOCH))
        if error is not ErrorCode.NONE:
            return {"errorCode": int(error)}
        log = partition.raft.log
        is_replica = replica_id >= 0
        end = log.log_end if is_replica else partition.committed
        if end is None:
            return {"errorCode": int(ErrorCode.OFFSET_NOT_AVAILABLE)}
        found = end_offset_for(log.epochs, log.log_end, asked["leaderEpoch"])
        return {
            "errorCode": 0,
            "leaderEpoch": found.epoch,
            "endOffset": min(found.offset, end),
        }

    names = ("topic", "partitions", "partition")
    return {"topics": each_partition(partition, request["topics"], answer, names=names)}


async def list_offsets(
    partition: ServedPartition, request: Message, version: int, address: str = ""
) -> Message:
    """The answer to ListOffsets. Any replica answers with its earliest offset. Only the leader
    answers with the latest offset, or with an offset for a timestamp.

    Any replica answers with its earliest offset, because a consumer that starts anew needs the
    earliest offset of the replica from which it reads (KIP-392). The error is OFFSET_NOT_AVAILABLE
    while a new leader doesn't know its high watermark, and UNSUPPORTED_VERSION for a special
    timestamp that this version of the request doesn't know. Questions about tiered storage get -1,
    as in a Kafka that doesn't use it (KIP-1005, KIP-1023). address: the client's address; a search
    by time waits for the turns of this address.
    """
    searched: dict[int, At | None] = {}

    def answer(asked: Message) -> Message:
        return _listed(partition, asked, version, searched)

    names = ("name", "partitions", "partitionIndex")
    while True:
        try:
            return {"topics": each_partition(partition, request["topics"], answer, names=names)}
        except _NotSearchedError as error:
            searched[error.timestamp] = await by_time(partition, error.timestamp, address)


def _listed(
    partition: ServedPartition, asked: Message, version: int, searched: Mapping[int, At | None]
) -> Message:
    """The answer about one partition. Raises _NotSearchedError where `searched` lacks its
    timestamp."""
    timestamp = asked["timestamp"]
    if not clients.knows_timestamp(version, timestamp):
        return {"errorCode": int(ErrorCode.UNSUPPORTED_VERSION)}
    epoch = asked.get("currentLeaderEpoch", UNDEFINED_EPOCH)
    is_earliest = timestamp in (Timestamp.EARLIEST, Timestamp.EARLIEST_LOCAL)
    error = partition.epoch_error(epoch) if is_earliest else _leader_error(partition, epoch)
    if error is not ErrorCode.NONE:
        return {"errorCode": int(error)}
    if is_earliest:
        return _offset(partition, partition.readable.start, timestamp=-1)
    if partition.committed is None:
        return {"errorCode": int(ErrorCode.OFFSET_NOT_AVAILABLE)}
    if timestamp in _TIERED:
        return _nothing()
    if timestamp == Timestamp.LATEST:
        return _offset(partition, partition.committed, timestamp=-1)
    if timestamp not in searched:
        raise _NotSearchedError(timestamp)
    found = searched[timestamp]
    return _nothing() if found is None else _offset(partition, found.offset, found.timestamp)


def _leader_error(partition: ServedPartition, asked_epoch: int) -> ErrorCode:
    """The error for a question that only the leader answers: NONE where this replica leads. A wrong
    epoch is reported first, by any replica (KIP-320)."""
    error = partition.epoch_error(asked_epoch)
    if error is ErrorCode.NONE and not partition.leads:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return error


def _offset(partition: ServedPartition, offset: int, timestamp: int) -> Message:
    epochs = partition.raft.log.epochs
    epoch = epoch_for_offset(epochs, offset)
    if epoch is None and epochs:
        epoch = epochs[-1].epoch
    return {
        "errorCode": 0,
        "timestamp": timestamp,
        "offset": offset,
        "leaderEpoch": UNDEFINED_EPOCH if epoch is None else epoch,
    }


def _nothing() -> Message:
    return {"errorCode": 0, "timestamp": -1, "offset": UNDEFINED_OFFSET}
