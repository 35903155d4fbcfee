"""Directories of nodes that never had a leader, as Kafka 3.9 to 4.4 leave them: formatted, and
started before the first election."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replica.format import meta_properties, partition_metadata, quorum_state
from replica.model.keys import METADATA_TOPIC_ID, NO_NODE, ReplicaId
from tests.replica.doctor.check.editing import file, segment

CLUSTER = "wK4Z31XJSxyKdzPVlZaFsg"
DIRECTORIES = {
    1: "DRDZqbSEv8ciy5R8B0--MA",
    2: "6fCe32obF05A6xjtv4-4AQ",
    3: "o5u_57iwDm0dmcnAO0koIw",
    4: "v0UKbSEv8ciy5R8B0abcMA",
}


def format_only(node: Path, node_id: int, cluster_id: str = CLUSTER) -> Path:
    """The node's log directory after kafka-storage format, before its first start."""
    replica = ReplicaId(cluster_id, node_id, DIRECTORIES[node_id])
    node.mkdir(parents=True)
    content = meta_properties.encode(meta_properties.new_meta_properties(replica))
    (node / meta_properties.FILE_NAME).write_bytes(content)
    return node


def start(
    node: Path, node_id: int, cluster_id: str = CLUSTER, voters: Sequence[int] = (1, 2, 3)
) -> Path:
    """The node's log directory after a start without an election: an empty log and
    leader-epoch-checkpoint. voters: of a static quorum; () for a dynamic quorum."""
    format_only(node, node_id, cluster_id)
    segment(node, 0).parent.mkdir()
    for name in ("00000000000000000000.log", "leader-epoch-checkpoint"):
        file(node, name).touch()
    topic = partition_metadata.encode(METADATA_TOPIC_ID)
    file(node, partition_metadata.FILE_NAME).write_bytes(topic)
    state = quorum_state.new_state(
        version=0 if voters else 1,
        leader_id=NO_NODE,
        leader_epoch=0,
        current_voters=tuple(voters),
    )
    file(node, quorum_state.FILE_NAME).write_bytes(quorum_state.encode(state))
    return node
