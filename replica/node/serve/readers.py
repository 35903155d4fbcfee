"""Answers OffsetForLeaderEpoch and ListOffsets of clients, which may read the log from any replica
(KIP-320, KIP-392). Fetch is in `reader_fetch`.

Readers get only committed records: for them the log ends at the high watermark. A ListOffsets
request for a timestamp searches the log in steps, and other requests are answered between the
steps.
"""

from __future__ import annotations

from typing import NamedTuple

from replica.history.epochs import end_offset_for, epoch_for_offset
from replica.model.epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from replica.model.kafka_errors import ErrorCode
from replica.node.serve.partition import ServedPartition
from replica.node.serve.shape import each_partition
from replica.node.translate import clients
from replica.wire.apis.fetching import Timestamp
from replica.wire.connections import address_of
from replica.wire.header import WireRequest
from replica.wire.schema import Message
from replica.wire.server import Client

STEP_BATCHES, STEP_BYTES = 256, 1024 * 1024
"""The limits of one step, in batches and in bytes. A step ends at the limit that it reaches first,
after a few milliseconds."""


class At(NamedTuple):
    """The timestamp and the base offset of a batch."""

    timestamp: int
    """The timestamp, in ms since 1970 (UTC)."""
    offset: int
    """The base offset of the batch with this timestamp."""


async def by_time(partition: ServedPartition, timestamp: int, address: str) -> At | None:
    """The first committed record whose time is `timestamp` (ms) or later; for NEWEST_RECORD the
    first committed record with the largest time. None if there is no such record.

    All records of a KRaft batch have one append time, so a batch is found by its largest timestamp,
    and the offset is the batch's base offset.

    The log is read up to the high watermark as it was at the start of the search. Each further step
    waits for the next turn of the reader at `address`.
    """
    newest: At | None = None
    position, end = partition.readable.start, partition.readable.end
    while position < end:
        # the log start may have moved during the wait
        position = max(position, partition.readable.start)
        count = size = 0
        for batch in partition.driver.log.batches(position, end):
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
_NOTHING: Message = {"errorCode": 0, "timestamp": -1, "offset": UNDEFINED_OFFSET}
"""The answer if the log has no offset that fits the request."""


async def offset_for_leader_epoch(
    partition: ServedPartition, client: Client, request: WireRequest
) -> Message:
    """The answer to OffsetForLeaderEpoch: the end offset (exclusive) of an epoch. For a consumer
    this offset is at most the high watermark (KIP-392).

    Epoch and offset are (-1, -1) if the log has no such epoch. While the high watermark is unknown,
    a consumer gets OFFSET_NOT_AVAILABLE and asks again: from (-1, -1) the consumer would conclude
    that its position was truncated.
    """
    is_replica = request.message.get("replicaId", CONSUMER) >= 0

    async def answer(asked: Message) -> Message:
        epoch = asked.get("currentLeaderEpoch", UNDEFINED_EPOCH)
        error = partition.refusal(epoch, leader_alone=True)
        if error is not ErrorCode.NONE:
            return {"errorCode": int(error)}
        log = partition.raft.log
        end = log.log_end if is_replica else partition.committed
        if end is None:
            return {"errorCode": int(ErrorCode.OFFSET_NOT_AVAILABLE)}
        found = end_offset_for(log.epochs, log.log_end, asked["leaderEpoch"])
        return {
            "errorCode": 0,
            "leaderEpoch": found.epoch,
            "endOffset": min(found.offset, end),
        }

    return await each_partition(partition, request, answer)


async def list_offsets(partition: ServedPartition, client: Client, request: WireRequest) -> Message:
    """The answer to ListOffsets. Any replica answers with its own earliest offset, because a
    consumer that starts needs the earliest offset of the replica from which it reads (KIP-392).
    Only the leader answers with the latest offset, or with an offset for a timestamp.

    The error is OFFSET_NOT_AVAILABLE while a new leader doesn't know its high watermark, and
    UNSUPPORTED_VERSION for a special timestamp that this version of the request doesn't know.
    Questions about tiered storage get -1, as in a Kafka without tiered storage (KIP-1005,
    KIP-1023).
    """

    async def answer(asked: Message) -> Message:
        timestamp = asked["timestamp"]
        if not clients.knows_timestamp(request.version, timestamp):
            return {"errorCode": int(ErrorCode.UNSUPPORTED_VERSION)}
        known = _known_offset(partition, asked)
        if known is not None:
            return known
        found = await by_time(partition, timestamp, address_of(client.host))
        # during the search this replica may have lost the leadership
        error = _known_offset(partition, asked)
        if error is not None or found is None:
            return error or _NOTHING
        return _offset(partition, found.offset, found.timestamp)

    return await each_partition(partition, request, answer)


def _known_offset(partition: ServedPartition, asked: Message) -> Message | None:
    """The answer about one partition, if the answer is an error or needs no search; else None."""
    timestamp = asked["timestamp"]
    epoch = asked.get("currentLeaderEpoch", UNDEFINED_EPOCH)
    is_earliest = timestamp in (Timestamp.EARLIEST, Timestamp.EARLIEST_LOCAL)
    error = partition.refusal(epoch, leader_alone=not is_earliest)
    if error is not ErrorCode.NONE:
        return {"errorCode": int(error)}
    if is_earliest:
        return _offset(partition, partition.readable.start, timestamp=-1)
    if partition.committed is None:
        return {"errorCode": int(ErrorCode.OFFSET_NOT_AVAILABLE)}
    if timestamp in _TIERED:
        return _NOTHING
    if timestamp == Timestamp.LATEST:
        return _offset(partition, partition.committed, timestamp=-1)
    return None


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
