"""Answers Produce, by which administrators append to the leader's log, and DeleteRecords, which a
metadata log refuses."""

from __future__ import annotations

import asyncio

from replica.errors import DataError
from replica.format.batch import decode_header
from replica.format.frames import frames
from replica.format.record import Record, records_of
from replica.metadata.image.replay import meaning
from replica.model.kafka_errors import ErrorCode
from replica.node.driver import CommittedAppend, LeadershipLostError
from replica.node.serve import cluster
from replica.node.serve.partition import ServedPartition
from replica.node.serve.shape import each_partition
from replica.node.translate.partition import RefusedRequestError
from replica.raft.inputs import Proposal, Propose
from replica.raft.leader.leading import NotLeaderError, RecordBatchTooLargeError
from replica.wire.header import WireRequest
from replica.wire.schema import Message
from replica.wire.server import Client

_NO_PRODUCER = -1


async def produce(
    partition: ServedPartition, client: Client, request: WireRequest
) -> Message | None:
    """Append the records for the partition that this node serves, and answer when the records are
    committed.

    A request with acks=0 gets no answer. A request with acks=1 is refused, because a quorum
    acknowledges only committed records. If one request names the partition twice, the second entry
    is refused.

    The error NOT_LEADER_OR_FOLLOWER means that nothing was appended; the answer then names the
    leader and its address (KIP-951). After NOT_ENOUGH_REPLICAS_AFTER_APPEND or REQUEST_TIMED_OUT
    the records may still be committed.
    """
    message = request.message

    async def answer(asked: Message) -> Message:
        try:
            appended = await _append(partition, asked["records"], message)
        except RefusedRequestError as refused:
            return {"errorCode": int(refused.error), **_not_appended(partition, refused.why)}
        return {
            "errorCode": 0,
            "baseOffset": appended.base_offset,
            "logStartOffset": partition.readable.start,
            "currentLeader": {"leaderId": partition.node_id, "leaderEpoch": appended.epoch},
        }

    def not_appended() -> Message:
        return _not_appended(partition, "name the partition that is served here, once in a request")

    response = await each_partition(partition, request, answer, not_appended)
    if message["acks"] == 0:
        return None
    return {**response, "nodeEndpoints": _leader(partition, client.listener)}


async def delete_records(
    partition: ServedPartition, client: Client, request: WireRequest
) -> Message:
    """The answer to DeleteRecords: POLICY_VIOLATION, because a metadata log drops only records that
    a snapshot contains (KIP-630)."""

    async def answer(_: Message) -> Message:
        return {"errorCode": int(ErrorCode.POLICY_VIOLATION), "lowWatermark": -1}

    return await each_partition(partition, request, answer, lambda: {"lowWatermark": -1})


def _leader(partition: ServedPartition, listener: str) -> list[Message]:
    """A list with the leader's id and address. The list is empty if this node leads, or if the
    leader is unknown."""
    endpoint = None if partition.leads else cluster.leader_endpoint(partition, listener)
    if endpoint is None:
        return []
    return [{"nodeId": partition.leader_id, "host": endpoint.host, "port": endpoint.port}]


def _not_appended(partition: ServedPartition, why: str) -> Message:
    """The answer about a partition to which nothing was appended, without the error's number."""
    return {
        "baseOffset": -1,
        "errorMessage": why,
        "recordErrors": [],
        "currentLeader": {"leaderId": partition.leader_id, "leaderEpoch": partition.epoch},
    }


async def _append(
    partition: ServedPartition, records: bytes | None, request: Message
) -> CommittedAppend:
    if request["acks"] == 1:
        raise RefusedRequestError(
            ErrorCode.INVALID_REQUIRED_ACKS, "a quorum acknowledges by acks=all"
        )
    if request["transactionalId"] is not None:
        raise RefusedRequestError(
            ErrorCode.INVALID_RECORD, "a metadata log has no producers' transactions"
        )
    proposals = _proposals(records or b"", is_metadata=partition.topic.is_metadata)
    propose = Propose(partition.epoch, proposals)
    try:
        async with asyncio.timeout(max(request["timeoutMs"], 1) / 1000):
            return await partition.driver.append(propose)
    except TimeoutError:
        raise RefusedRequestError(
            ErrorCode.REQUEST_TIMED_OUT, "not committed yet; it may still be"
        ) from None
    except LeadershipLostError as error:
        raise RefusedRequestError(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, str(error)) from error
    except NotLeaderError as error:
        raise RefusedRequestError(ErrorCode.NOT_LEADER_OR_FOLLOWER, str(error)) from error
    except RecordBatchTooLargeError as error:
        raise RefusedRequestError(ErrorCode.MESSAGE_TOO_LARGE, str(error)) from error


def _proposals(data: bytes, *, is_metadata: bool) -> tuple[Proposal, ...]:
    """The batches of a request as proposals. Each batch is decoded, because only readable records
    may be appended. Raises RefusedRequestError if the bytes aren't whole, valid batches of plain
    records."""
    try:
        found = tuple(
            _proposal(data, frame.position, is_metadata=is_metadata)
            for frame in frames(data, start=0, expected_offset=None)
        )
    except DataError as error:
        raise RefusedRequestError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    if not found or sum(len(proposal.data) for proposal in found) != len(data):
        raise RefusedRequestError(ErrorCode.CORRUPT_MESSAGE, "the records end within a batch")
    return found


def _proposal(data: bytes, position: int, *, is_metadata: bool) -> Proposal:
    header = decode_header(data, position)
    batch = data[position : position + header.size_bytes]
    if header.is_control or header.producer_id != _NO_PRODUCER:
        why = "control batches and idempotent producers have no place in a metadata log"
        raise RefusedRequestError(ErrorCode.INVALID_RECORD, why)
    count = 0
    for record in records_of(header, batch):
        count += 1
        if is_metadata:
            _check_metadata(record)
    if count == 0 or count != header.last_offset_delta + 1:
        raise RefusedRequestError(ErrorCode.INVALID_RECORD, "a batch without holes is expected")
    return Proposal(count, batch)


def _check_metadata(record: Record) -> None:
    """Raise RefusedRequestError for a record that can't be replayed: such a record would stop every
    replica, including Kafka's nodes."""
    try:
        meaning(record, is_control=False)
    except DataError as error:
        raise RefusedRequestError(
            ErrorCode.INVALID_RECORD, f"record {record.offset} is no metadata record: {error}"
        ) from error
