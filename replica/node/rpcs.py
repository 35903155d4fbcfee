"""The RPCs that a replica serves. Each has a row: its API, its permitted callers, its answer, its
refusal, whether the request is forwarded to the leader, and, if the consensus core answers the
request, the translation between the core's messages and Kafka's.

A new RPC needs the API's table in replica.wire.apis, a row here, and the functions that the row
names. ApiVersions and SASL have no row: replica.wire.server answers them on every listener.
"""

from __future__ import annotations

from replica.node.serve import cluster, configs, controllers, readers, refusals, writing
from replica.node.serve.callers import ADMINISTRATORS, ANYBODY, REPLICAS, UPDATED_VOTER, voters
from replica.node.serve.reader_fetch import fetch_by_reader
from replica.node.serve.refusals import by_partition, by_resource, of_topics
from replica.node.serve.rpc import Rpc, core_rpc
from replica.node.translate import describing, draft, fetches, membership, votes
from replica.node.translate.translation import Translation
from replica.raft import messages
from replica.wire.apis.cluster import DESCRIBE_CLUSTER, METADATA
from replica.wire.apis.configs import ALTER_CONFIGS, DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from replica.wire.apis.fetching import FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from replica.wire.apis.membership import UNREGISTER_CONTROLLER
from replica.wire.apis.writing import DELETE_RECORDS, PRODUCE

_FETCH_REFUSED = by_partition(highWatermark=-1)

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
    Rpc(METADATA, ANYBODY, cluster.metadata, of_topics(refusals.metadata)),
    Rpc(DESCRIBE_CLUSTER, ANYBODY, cluster.describe_cluster, refusals.describe_cluster),
    Rpc(LIST_OFFSETS, ANYBODY, readers.list_offsets, of_topics(by_partition())),
    Rpc(
        OFFSET_FOR_LEADER_EPOCH,
        ANYBODY,
        readers.offset_for_leader_epoch,
        of_topics(by_partition()),
    ),
    Rpc(PRODUCE, ADMINISTRATORS, writing.produce, of_topics(by_partition(baseOffset=-1))),
    Rpc(
        DELETE_RECORDS,
        ADMINISTRATORS,
        writing.delete_records,
        of_topics(by_partition(lowWatermark=-1)),
    ),
    Rpc(DESCRIBE_CONFIGS, ANYBODY, configs.describe_configs, by_resource("results", configs=[])),
    Rpc(ALTER_CONFIGS, ADMINISTRATORS, configs.alter_configs, by_resource("responses")),
    Rpc(INCREMENTAL_ALTER_CONFIGS, ADMINISTRATORS, configs.alter_configs, by_resource("responses")),
    Rpc(UNREGISTER_CONTROLLER, ADMINISTRATORS, controllers.unregister, is_forwarded=True),
)

READER_FETCH = Rpc(FETCH, ANYBODY, fetch_by_reader, of_topics(_FETCH_REFUSED), is_fetch=True)
"""The row for fetches of readers. The row of FETCH in RPCS is for the fetches of replicas."""

RPCS: dict[int, Rpc] = {rpc.api.key: rpc for rpc in (*_OF_THE_CORE, *_OF_THE_NODE)}
"""The rows by API key."""

TRANSLATIONS: dict[type[messages.PeerRequest], Translation] = {
    membership.API_VERSIONS.request: membership.API_VERSIONS,
    **{rpc.translation.request: rpc.translation for rpc in _OF_THE_CORE if rpc.translation},
}
"""The translations of the core's requests and their answers, by the class of the request."""


def draft_rpc(key: int) -> Rpc:
    """The row of FetchQuorumRecords of KIP-595's draft, with the API key that the quorum's settings
    name. Raises UsageError for a key that another API has."""
    return core_rpc(draft.translation(key), REPLICAS, is_fetch=True)
