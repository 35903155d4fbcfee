"""The identity of a replica: a node and the directory that holds its log (KIP-853). This module
also has the name of the metadata topic."""

from __future__ import annotations

from dataclasses import dataclass

METADATA_TOPIC, METADATA_TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
"""The name and the id of the metadata topic, whose only partition is 0 (Kafka: Topic)."""


NO_NODE = -1
"""The number for no node id in Kafka's protocol."""

ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
"""Kafka's zero UUID in its 22-character form: the directory id of a replica without a directory
id."""


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKey:
    """A replica inside one cluster: node id and directory id (KIP-853).

    A node whose disk was wiped gets a new directory id, so it is another replica.
    """

    node_id: int
    directory_id: str = ZERO_UUID
    """The directory id; ZERO_UUID in a static quorum or with a meta.properties of version 0."""

    def matches(self, other: ReplicaKey) -> bool:
        """Whether this key means the replica `other`. A key without a directory means every
        directory of its node."""
        if self.node_id != other.node_id:
            return False
        return self.directory_id in (ZERO_UUID, other.directory_id)


@dataclass(frozen=True, slots=True, order=True)
class ReplicaId:
    """A replica of any cluster, as meta.properties names it."""

    cluster_id: str
    node_id: int
    directory_id: str = ZERO_UUID

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.node_id, self.directory_id)
