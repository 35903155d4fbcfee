"""Requests that the consensus core answers: translated, asked, translated back."""

from __future__ import annotations

from replica.node.serve.partition import ServedPartition
from replica.node.translate.membership import InvalidFeatureError
from replica.node.translate.partition import InvalidPartitionError, Partition
from replica.node.translate.table import BY_KEY, refusal
from replica.raft.messages import FetchRequest
from replica.wire.header import Request
from replica.wire.schema import Message


async def answer_by_core(partition: ServedPartition, request: Request) -> Message:
    """The response to a peer or an administrator. Raises DataError for what is no request."""
    side = BY_KEY[request.api.key]
    raft = partition.driver.host.raft
    listener = partition.driver.host.config.default_listener
    about = Partition(partition.topic.name, partition.topic.id, listener, raft.log.voters)
    try:
        asked = side.read(about, request.message, request.version)
    except (InvalidPartitionError, InvalidFeatureError) as error:
        return refusal(int(error.code))
    if isinstance(asked, FetchRequest) and request.message.get("rackId"):
        partition.racks[asked.replica.node_id] = request.message["rackId"]
    return side.write(about, await partition.driver.ask(asked), request.version)
