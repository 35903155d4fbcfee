"""Requests that the consensus core answers: translated, asked, translated back."""

from __future__ import annotations

from dataclasses import replace

from replica.node.serve.partition import ServedPartition
from replica.node.translate.membership import InvalidFeatureError
from replica.node.translate.partition import InvalidPartitionError, Partition
from replica.node.translate.table import ServerSide, refusal
from replica.raft.messages import FetchRequest
from replica.wire.header import Request
from replica.wire.schema import Message

LONGEST_WAIT_MS = 60_000
"""Of a fetch, whatever it asks for: a client that is gone is noticed when it is answered."""


async def answer_by_core(partition: ServedPartition, side: ServerSide, request: Request) -> Message:
    """The response to a peer or an administrator. Raises DataError for what is no request."""
    raft = partition.driver.host.raft
    listener = partition.driver.host.config.default_listener
    about = Partition(partition.topic.name, partition.topic.id, listener, raft.log.voters)
    try:
        asked = side.read(about, request.message, request.version)
    except (InvalidPartitionError, InvalidFeatureError) as error:
        return refusal(int(error.code))
    if isinstance(asked, FetchRequest):
        asked = replace(asked, max_wait_ms=min(asked.max_wait_ms, LONGEST_WAIT_MS))
        rack = request.message.get("rackId")
        if rack and raft.log.voters.is_voter(asked.replica):
            partition.racks[asked.replica.node_id] = rack
    return side.write(about, await partition.driver.ask(asked), request.version)
