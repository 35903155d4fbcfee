"""Answers the fetches of clients (replica id -1), with committed records only. Any replica answers.
Only the leader answers requests before version 11, because their senders can't read from followers.

replica.history.reader decides what to answer, by the log alone. A fetch waits for enough records or
for an error, but at most its maxWaitMs (KIP-392).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from replica.history.fetch import Diverging
from replica.history.reader import (
    CaughtUp,
    Committed,
    OutOfRange,
    ReaderDecision,
    Unavailable,
    Uncommitted,
    reader_fetch,
)
from replica.model.epochs import UNDEFINED_EPOCH
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.node.serve.partition import ServedPartition
from replica.node.serve.rpc import LONGEST_WAIT_MS
from replica.node.serve.shape import each_partition
from replica.node.translate import clients
from replica.wire.connections import address_of
from replica.wire.header import WireRequest
from replica.wire.schema import Message
from replica.wire.server import Client

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.5
"""The shortest and the longest pause (s) between two reads of the log while it has fewer bytes than
minBytes."""


@dataclass(slots=True)
class _Round:
    """The result of one read of the log."""

    size: int = 0
    """The size of the records in bytes."""
    is_final: bool = False
    """Whether to answer without a further wait."""


async def fetch_by_reader(
    partition: ServedPartition, client: Client, request: WireRequest
) -> Message:
    """The response, at the latest after maxWaitMs. A request that names no topic is answered at
    once; a client sends such a request when it ends its session."""
    message = request.message
    if message.get("sessionId", 0) and message.get("sessionEpoch", -1) > 0:
        # this node has no fetch sessions (its answers have session id 0), so no client can have one
        return {"errorCode": int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND), "responses": []}
    enough = min(message["minBytes"], partition.driver.config.response_max_bytes)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + min(max(message["maxWaitMs"], 0), LONGEST_WAIT_MS) / 1000
    pause = _FIRST_PAUSE_S
    while True:
        response, found = await _look(partition, request)
        left = deadline - loop.time()
        is_enough = found.size >= enough or not message["topics"]
        if found.is_final or is_enough or left <= 0:
            partition.fetches += found.size > 0
            return response
        await partition.driver.wait_for_news(left)
        # the client wants more bytes; each read reads all records again, so the pauses get longer
        if found.size:
            await asyncio.sleep(max(0.0, min(pause, deadline - loop.time())))
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        await partition.turn(address_of(client.host))


async def _look(partition: ServedPartition, request: WireRequest) -> tuple[Message, _Round]:
    found, message, version = _Round(), request.message, request.version
    most = partition.driver.config.response_max_bytes
    budget = min(message.get("maxBytes", most), most)
    rack, knows_followers = message.get("rackId", ""), clients.knows_followers(version)

    async def answer(asked: Message) -> Message:
        epoch = asked.get("currentLeaderEpoch", UNDEFINED_EPOCH)
        error = partition.refusal(epoch, leader_alone=not knows_followers)
        if error is not ErrorCode.NONE:
            return _empty(partition, error)
        chosen = partition.preferred_replica(rack) if knows_followers else None
        if chosen is not None:
            found.is_final = True  # the client should read from another replica at once
            return {**_empty(partition), "preferredReadReplica": chosen}
        limit = max(0, min(budget - found.size, asked["partitionMaxBytes"]))
        return _records(partition, asked, limit, found)

    unknown = {"highWatermark": -1}
    response = await each_partition(partition, request, answer, lambda: unknown)
    answered = (each for topic in response["responses"] for each in topic["partitions"])
    found.is_final |= any(each["errorCode"] != ErrorCode.NONE for each in answered)
    return {"errorCode": 0, "sessionId": 0, **response}, found


def _records(partition: ServedPartition, asked: Message, limit: int, found: _Round) -> Message:
    raft, offset = partition.raft, asked["fetchOffset"]
    known, leaders = raft.high_watermark, raft.leader_watermark
    read_in = asked.get("lastFetchedEpoch", UNDEFINED_EPOCH)
    decision = reader_fetch(raft.log.view, known, leaders, offset, read_in)
    if isinstance(decision, Committed):
        data = partition.driver.log.read(offset, limit, decision.end_offset)
        found.size += len(data)
        return {**_empty(partition), "records": data}
    if isinstance(decision, Diverging):
        found.is_final = True
        diverging = {"epoch": decision.epoch, "endOffset": decision.end_offset}
        return {**_empty(partition), "divergingEpoch": diverging}
    return _empty(partition, _error(partition, decision))


def _error(partition: ServedPartition, decision: ReaderDecision) -> ErrorCode:
    match decision:
        case CaughtUp():
            return ErrorCode.NONE
        case Uncommitted() if partition.uncommitted_is_empty:
            return ErrorCode.NONE
        case Uncommitted() | Unavailable():
            return ErrorCode.OFFSET_NOT_AVAILABLE
        case OutOfRange():
            return ErrorCode.OFFSET_OUT_OF_RANGE
    raise AssertionError(f"{decision} has no answer")


def _empty(partition: ServedPartition, error: ErrorCode = ErrorCode.NONE) -> Message:
    """An answer without records. The answer names the log start and the high watermark, even with
    an error (KIP-392)."""
    readable = partition.readable
    return {
        "errorCode": int(error),
        "highWatermark": readable.end,
        "lastStableOffset": readable.end,
        "logStartOffset": readable.start,
        "preferredReadReplica": NO_NODE,
        "records": b"",
        "abortedTransactions": None,
    }
