"""The words of the field as frozen values, shared by every folder.

Offsets count records from 0. An *end* offset is exclusive, a *last* offset inclusive. Epochs are
the Raft terms of KIP-595; -1 stands for "none", as on Kafka's wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

METADATA_TOPIC, METADATA_TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
"""Kafka's own names for the topic of a cluster's metadata, whose one partition is 0."""

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1
NO_NODE = -1

ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
"""Kafka's zero UUID in its 22-character form; also the directory id of a replica without one."""


@dataclass(frozen=True, slots=True, order=True)
class OffsetAndEpoch:
    """An offset and the leader epoch that goes with it (Kafka: OffsetAndEpoch).

    As a snapshot id, `offset` is the exclusive end of what the snapshot contains.
    """

    offset: int
    epoch: int


@dataclass(frozen=True, slots=True, order=True)
class EpochStart:
    """The first offset written in a leader epoch (Kafka: EpochEntry)."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKey:
    """A replica inside one cluster: node id and directory id (KIP-853).

    A wiped disk has a new directory id and so is another replica. `directory_id` is ZERO_UUID
    where a static quorum or meta.properties v0 has none.
    """

    node_id: int
    directory_id: str = ZERO_UUID


@dataclass(frozen=True, slots=True, order=True)
class ReplicaId:
    """A replica among all clusters, as meta.properties names it."""

    cluster_id: str
    node_id: int
    directory_id: str = ZERO_UUID

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.node_id, self.directory_id)


class Severity(StrEnum):
    """How bad; the values are those of gold.findings.severity."""

    INFO = "info"
    """Nothing is wrong: a running node, a known quirk of Kafka, something to know."""
    WARNING = "warning"
    """Kafka copes, or nobody can tell yet; somebody should look."""
    ERROR = "error"
    """Kafka refuses to go on with it, or loses data by it."""

    @property
    def rank(self) -> int:
        """0 for the worst, to sort by."""
        return tuple(reversed(Severity)).index(self)
