"""Structures that several requests and responses have in common."""

from __future__ import annotations

from replica.message.schema import Field
from replica.wire.schema import field, structs

LISTENERS = (field("name", "string"), field("host", "string"), field("port", "uint16"))
ERROR_MESSAGE = field("errorMessage", "string", nullable=True, default=None)
CLUSTER_ID = field("clusterId", "string", nullable=True, default=None)
QUORUM_ENDPOINTS = structs(
    "nodeEndpoints",
    field("nodeId", "int32"),
    field("host", "string"),
    field("port", "uint16"),
    since=1,
    tag=0,
)
"""The addresses at which other voters reach the leader that a response names (KIP-853)."""


def topics(name: str, *partition: Field) -> Field:
    """The topics of a request or a response. name: the field of a topic's name. partition: the
    fields of each of its partitions."""
    return structs("topics", field(name, "string"), structs("partitions", *partition))


def broker_endpoints(since: int) -> Field:
    """The addresses at which clients reach the leaders that a response names (KIP-951)."""
    return structs(
        "nodeEndpoints",
        field("nodeId", "int32"),
        field("host", "string"),
        field("port", "int32"),
        field("rack", "string", nullable=True, default=None),
        since=since,
        tag=0,
    )


def current_leader(since: int, tag: int) -> Field:
    """The leader of a partition, which a client then need not look up by Metadata (KIP-951)."""
    return field(
        "currentLeader",
        "struct",
        field("leaderId", "int32", default=-1),
        field("leaderEpoch", "int32", default=-1),
        since=since,
        tag=tag,
    )
