"""ApiVersions, Metadata, DescribeCluster (KIP-511, 516, 584, 700, 919, 1242)."""

from __future__ import annotations

from replica.wire.apis.parts import ERROR_MESSAGE
from replica.wire.schema import api, field, structs

UNKNOWN_OPERATIONS = -(2**31)
"""The value of authorized operations in a response if the request didn't ask for the authorized
operations."""

API_VERSIONS = api(
    "ApiVersions",
    18,
    (0, 5),
    flexible_since=3,
    request=(
        field("clientSoftwareName", "string", since=3),
        field("clientSoftwareVersion", "string", since=3),
        field("clusterId", "string", since=5, nullable=True, default=None),
        field("nodeId", "int32", since=5, default=-1),
    ),
    response=(
        field("errorCode", "int16"),
        structs(
            "apiKeys",
            field("apiKey", "int16"),
            field("minVersion", "int16"),
            field("maxVersion", "int16"),
        ),
        field("throttleTimeMs", "int32", since=1),
        structs(
            "supportedFeatures",
            field("name", "string"),
            field("minVersion", "int16"),
            field("maxVersion", "int16"),
            since=3,
            tag=0,
        ),
        field("finalizedFeaturesEpoch", "int64", since=3, tag=1, default=-1),
        structs(
            "finalizedFeatures",
            field("name", "string"),
            field("maxVersionLevel", "int16"),
            field("minVersionLevel", "int16"),
            since=3,
            tag=2,
        ),
        field("zkMigrationReady", "bool", since=3, tag=3),
    ),
)

METADATA = api(
    "Metadata",
    3,
    (0, 13),
    flexible_since=9,
    request=(
        structs(
            "topics",
            field("topicId", "uuid", since=10),
            field("name", "string", nullable_since=10),
            nullable_since=1,
        ),
        field("allowAutoTopicCreation", "bool", since=4, default=True),
        field("includeClusterAuthorizedOperations", "bool", since=8, until=10),
        field("includeTopicAuthorizedOperations", "bool", since=8),
    ),
    response=(
        field("throttleTimeMs", "int32", since=3),
        structs(
            "brokers",
            field("nodeId", "int32"),
            field("host", "string"),
            field("port", "int32"),
            field("rack", "string", since=1, nullable=True, default=None),
        ),
        field("clusterId", "string", since=2, nullable=True, default=None),
        field("controllerId", "int32", since=1, default=-1),
        structs(
            "topics",
            field("errorCode", "int16"),
            field("name", "string", nullable_since=12),
            field("topicId", "uuid", since=10),
            field("isInternal", "bool", since=1),
            structs(
                "partitions",
                field("errorCode", "int16"),
                field("partitionIndex", "int32"),
                field("leaderId", "int32"),
                field("leaderEpoch", "int32", since=7, default=-1),
                field("replicaNodes", "[]int32"),
                field("isrNodes", "[]int32"),
                field("offlineReplicas", "[]int32", since=5),
            ),
            field("topicAuthorizedOperations", "int32", since=8, default=UNKNOWN_OPERATIONS),
        ),
        field(
            "clusterAuthorizedOperations", "int32", since=8, until=10, default=UNKNOWN_OPERATIONS
        ),
        field("errorCode", "int16", since=13),
    ),
)

BROKERS, CONTROLLERS = 1, 2
"""DescribeCluster's endpoint types (KIP-919)."""

DESCRIBE_CLUSTER = api(
    "DescribeCluster",
    60,
    (0, 2),
    flexible_since=0,
    request=(
        field("includeClusterAuthorizedOperations", "bool"),
        field("endpointType", "int8", since=1, default=1),
        field("includeFencedBrokers", "bool", since=2),
    ),
    response=(
        field("throttleTimeMs", "int32"),
        field("errorCode", "int16"),
        ERROR_MESSAGE,
        field("endpointType", "int8", since=1, default=1),
        field("clusterId", "string"),
        field("controllerId", "int32", default=-1),
        structs(
            "brokers",
            field("brokerId", "int32"),
            field("host", "string"),
            field("port", "int32"),
            field("rack", "string", nullable=True, default=None),
            field("isFenced", "bool", since=2),
        ),
        field("clusterAuthorizedOperations", "int32", default=UNKNOWN_OPERATIONS),
    ),
)
