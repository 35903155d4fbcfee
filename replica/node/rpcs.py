"""Every RPC that a replica serves has a row here: its API, its permitted callers, its answer, its
refusal, whether it is forwarded to the leader and, where the consensus core answers, the
translation between the core's messages and Kafka's.

A new RPC needs the API's table in replica.wire.apis, a row here, and the functions that the row
names. ApiVersions and SASL have no row: replica.wire.server answers them on every listener.
"""

from __future__ import annotations

from collections.abc import Callable

from replica.node.serve import cluster, configs, controllers, readers, refusals, writing
from replica.node.serve.callers import ADMINISTRATORS, ANYBODY, REPLICAS, UPDATED_VOTER, voters
from replica.node.serve.partition import ServedPartition
from replica.node.serve.reader_fetch import fetch_by_reader
from replica.node.serve.rpc import Answer, Rpc, core_rpc
from replica.node.translate import describing, draft, fetches, membership, votes
from replica.node.translate.translation import Translation
from replica.raft import messages
from replica.wire.apis.cluster import DESCRIBE_CLUSTER, METADATA
from replica.wire.apis.configs import ALTER_CONFIGS, DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from replica.wire.apis.fetching import FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from replica.wire.apis.membership import UNREGISTER_CONTROLLER
from replica.wire.apis.writing import DELETE_RECORDS, PRODUCE
from replica.wire.connections import address_of
from replica.wire.header import WireRequest
from replica.wire.schema import Message
from replica.wire.server import Client


def _by_message(answer_of: Callable[[ServedPartition, Message], Message]) -> Answer:
    """The Answer made of a function that doesn't wait, and needs neither the version nor the
    client."""

    async def answer(partition: ServedPartition, client: Client, request: WireRequest) -> Message:
        return answer_of(partition, request.message)

    return answer


async def _metadata(partition: ServedPartition, client: Client, request: WireRequest) -> Message:
    return cluster.metadata(partition, request.message, request.version, client.listener)


async def _describe_cluster(
    partition: ServedPartition, client: Client, request: WireRequest
) -> Message:
    return cluster.describe_cluster(partition, request.message, client.listener)


async def _list_offsets(
    partition: ServedPartition, client: Client, request: WireRequest
) -> Message:
    address = address_of(client.host)
    return await readers.list_offsets(partition, request.message, request.version, address)


async def _fetch(partition: ServedPartition, client: Client, request: WireRequest) -> Message:
    address = address_of(client.host)
    return await fetch_by_reader(partition, request.message, request.version, address)


async def _produce(
    partition: ServedPartition, client: Client, request: WireRequest
) -> Message | None:
    return await writing.produce(partition, request.message, client.listener)


async def _unregister(partition: ServedPartition, client: Client, request: WireRequest) -> Message:
    return await controllers.unregister(partition, request.message)


_TOPICS = ("topics", "topic", "partitions", "partition")
_NUMBERED = ("topics", "name", "partitions", "partitionIndex")
_FETCH_REFUSED = refusals.by_partition(
    _TOPICS, ("responses", "partitions", "partitionIndex"), highWatermark=-1
)

_OF_THE_CORE = (
    core_rpc(votes.VOTE, voters("replicaId")),
    core_rpc(votes.BEGIN_QUORUM_EPOCH, voters("leaderId")),
    core_rpc(votes.END_QUORUM_EPOCH, voters("leaderId")),
    core_rpc(fetches.FETCH, REPLICAS, refusal=_FETCH_REFUSED, is_fetch=True),
    core_rpc(fetches.FETCH_SNAPSHOT, REPLICAS, is_fetch=True),
    core_rpc(describing.DESCRIBE_QUORUM, ANYBODY, is_forwarded=True),
    core_rpc(membership.ADD_RAFT_VOTER, ADMINISTRATORS, is_forwarded=True),
    core_rpc(membership.REMOVE_RAFT_VOTER, ADMINISTRATORS, is_forwarded=True),
    core_rpc(membership.UPDATE_RAFT_VOTER, UPDATED_VOTER),
    core_rpc(membership.UPDATE_KRAFT_VERSION, ADMINISTRATORS, is_forwarded=True),
)
_OF_THE_NODE = (
    Rpc(METADATA, ANYBODY, _metadata, refusals.of_topics(refusals.metadata)),
    Rpc(DESCRIBE_CLUSTER, ANYBODY, _describe_cluster, refusals.describe_cluster),
    Rpc(
        LIST_OFFSETS,
        ANYBODY,
        _list_offsets,
        refusals.of_topics(
            refusals.by_partition(_NUMBERED, ("topics", "partitions", "partitionIndex"))
        ),
    ),
    Rpc(
        OFFSET_FOR_LEADER_EPOCH,
        ANYBODY,
        _by_message(readers.offset_for_leader_epoch),
        refusals.of_topics(refusals.by_partition(_TOPICS, ("topics", "partitions", "partition"))),
    ),
    Rpc(
        PRODUCE,
        ADMINISTRATORS,
        _produce,
        refusals.of_topics(
            refusals.by_partition(
                ("topicData", "name", "partitionData", "index"),
                ("responses", "partitionResponses", "index"),
                baseOffset=-1,
            )
        ),
    ),
    Rpc(
        DELETE_RECORDS,
        ADMINISTRATORS,
        _by_message(writing.delete_records),
        refusals.of_topics(
            refusals.by_partition(
                _NUMBERED, ("topics", "partitions", "partitionIndex"), lowWatermark=-1
            )
        ),
    ),
    Rpc(
        DESCRIBE_CONFIGS,
        ANYBODY,
        _by_message(configs.describe_configs),
        refusals.by_resource("results", configs=[]),
    ),
    Rpc(
        ALTER_CONFIGS,
        ADMINISTRATORS,
        _by_message(configs.alter_configs),
        refusals.by_resource("responses"),
    ),
    Rpc(
        INCREMENTAL_ALTER_CONFIGS,
        ADMINISTRATORS,
        _by_message(configs.alter_configs),
        refusals.by_resource("responses"),
    ),
    Rpc(UNREGISTER_CONTROLLER, ADMINISTRATORS, _unregister, is_forwarded=True),
)

READER_FETCH = Rpc(FETCH, ANYBODY, _fetch, refusals.of_topics(_FETCH_REFUSED), is_fetch=True)
"""The row for fetches of readers. The row of FETCH in RPCS is for the fetches of replicas."""

RPCS: dict[int, Rpc] = {rpc.api.key: rpc for rpc in (*_OF_THE_CORE, *_OF_THE_NODE)}
"""The rows by API key."""

TRANSLATIONS: dict[type[messages.PeerRequest], Translation] = {
    membership.API_VERSIONS.request: membership.API_VERSIONS,
    **{rpc.translation.request: rpc.translation for rpc in _OF_THE_CORE if rpc.translation},
}
"""The translations of the core's requests and their answers, by the class of the request."""


def draft_rpc(key: int) -> Rpc:
    """The row of FetchQuorumRecords of KIP-595's draft, under the API key that the quorum agreed
    on. Raises UsageError for a key that another API has."""
    return core_rpc(draft.translation(key), REPLICAS, is_fetch=True)
