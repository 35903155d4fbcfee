"""Structures that several requests and responses share."""

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
"""The addresses of the leader that a response names, for other voters (KIP-853)."""


def topics(name: str, *partition: Field) -> Field:
    """The topics of a request or a response. name: the name of the field with the topic's name.
    partition: the fields of each partition."""
    return structs("topics", field(name, "string"), structs("partitions", *partition))


def broker_endpoints(since: int) -> Field:
    """The addresses of the leaders that a response names, for clients (KIP-951)."""
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
    """The leader of a partition, so that a client needs no Metadata request to find the leader
    (KIP-951)."""
    return field(
        "currentLeader",
        "struct",
        field("leaderId", "int32", default=-1),
        field("leaderEpoch", "int32", default=-1),
        since=since,
        tag=tag,
    )
