"""The identity of a replica: a node with the directory that holds its log (KIP-853). Also the name
of the log's topic."""

from __future__ import annotations

from dataclasses import dataclass

METADATA_TOPIC, METADATA_TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
"""The name and the id of the topic that holds a cluster's metadata, whose only partition is 0
(Kafka: Topic)."""


NO_NODE = -1
"""Stands for no node id, as on Kafka's wire."""

ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
"""Kafka's zero UUID in its 22-character form. It stands for the directory id of a replica that has
none."""


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKey:
    """A replica inside one cluster: node id and directory id (KIP-853).

    A node whose disk was wiped gets a new directory id, and so is another replica.
    """

    node_id: int
    directory_id: str = ZERO_UUID
    """The directory id; ZERO_UUID where a static quorum or meta.properties v0 has none."""

    def matches(self, other: ReplicaKey) -> bool:
        """Whether this key means the replica `other`. A key without a directory means every
        directory of its node."""
        if self.node_id != other.node_id:
            return False
        return self.directory_id in (ZERO_UUID, other.directory_id)


@dataclass(frozen=True, slots=True, order=True)
class ReplicaId:
    """A replica among all clusters, as meta.properties names it."""

    cluster_id: str
    node_id: int
    directory_id: str = ZERO_UUID

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.node_id, self.directory_id)
