"""Requests that the consensus core answers: each request is translated for the core, and the core's
answer is translated back."""

from __future__ import annotations

from dataclasses import replace

from replica.node.serve.callers import Callers
from replica.node.serve.partition import ServedPartition
from replica.node.serve.rpc import Refusal, Rpc, error_alone
from replica.node.translate.membership import InvalidFeatureError
from replica.node.translate.partition import InvalidPartitionError, ReplicatedPartition
from replica.node.translate.translation import ServerSide, Translation
from replica.raft.messages import FetchRequest
from replica.wire.header import WireRequest
from replica.wire.schema import Message
from replica.wire.server import Client

LONGEST_WAIT_MS = 60_000
"""The longest time (ms) that a fetch waits, whatever it asks for: only when an answer is sent does
it show whether the client is still connected."""


def core_rpc(
    translation: Translation,
    callers: Callers,
    refusal: Refusal = error_alone,
    *,
    is_forwarded: bool = False,
    is_fetch: bool = False,
) -> Rpc:
    """The row of an RPC that the consensus core answers."""
    side = translation.server
    assert side is not None, f"{translation.api} is answered elsewhere"

    async def answer(partition: ServedPartition, client: Client, request: WireRequest) -> Message:
        return await _answer(partition, side, request)

    return Rpc(translation.api, callers, answer, refusal, is_forwarded, is_fetch, translation)


async def _answer(partition: ServedPartition, side: ServerSide, request: WireRequest) -> Message:
    """The core's response to a peer or an administrator. Raises DataError for a malformed
    request."""
    raft = partition.raft
    listener = partition.config.default_listener
    about = ReplicatedPartition(partition.topic.name, partition.topic.id, listener, raft.log.voters)
    try:
        asked = side.read(about, request.message, request.version)
    except (InvalidPartitionError, InvalidFeatureError) as error:
        return {"errorCode": int(error.code)}
    if isinstance(asked, FetchRequest):
        asked = replace(asked, max_wait_ms=min(asked.max_wait_ms, LONGEST_WAIT_MS))
        rack = request.message.get("rackId")
        if rack and raft.log.voters.is_voter(asked.replica):
            partition.racks[asked.replica.node_id] = rack
    return side.write(about, await partition.driver.ask(asked), request.version)
