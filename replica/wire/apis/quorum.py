"""Vote, BeginQuorumEpoch, EndQuorumEpoch, DescribeQuorum (KIP-595, 642, 836, 853, 996)."""

from __future__ import annotations

from replica.message.schema import Field
from replica.wire.apis.parts import CLUSTER_ID, LISTENERS, QUORUM_ENDPOINTS, topics
from replica.wire.schema import api, field, structs

_LEADER_ENDPOINTS = structs("leaderEndpoints", *LISTENERS, since=1)


def _topics(*partition: Field) -> Field:
    return topics("topicName", field("partitionIndex", "int32"), *partition)


_PARTITION_LEADER = (
    field("errorCode", "int16"),
    field("leaderId", "int32"),
    field("leaderEpoch", "int32"),
)
_EPOCH_RESPONSE = (field("errorCode", "int16"), _topics(*_PARTITION_LEADER), QUORUM_ENDPOINTS)

VOTE = api(
    "Vote",
    52,
    (0, 2),
    flexible_since=0,
    request=(
        CLUSTER_ID,
        field("voterId", "int32", since=1, default=-1),
        _topics(
            field("replicaEpoch", "int32"),
            field("replicaId", "int32"),
            field("replicaDirectoryId", "uuid", since=1),
            field("voterDirectoryId", "uuid", since=1),
            field("lastOffsetEpoch", "int32"),
            field("lastOffset", "int64"),
            field("preVote", "bool", since=2),
        ),
    ),
    response=(
        field("errorCode", "int16"),
        _topics(*_PARTITION_LEADER, field("voteGranted", "bool")),
        QUORUM_ENDPOINTS,
    ),
)

BEGIN_QUORUM_EPOCH = api(
    "BeginQuorumEpoch",
    53,
    (0, 1),
    flexible_since=1,
    request=(
        CLUSTER_ID,
        field("voterId", "int32", since=1, default=-1),
        _topics(
            field("voterDirectoryId", "uuid", since=1),
            field("leaderId", "int32"),
            field("leaderEpoch", "int32"),
        ),
        _LEADER_ENDPOINTS,
    ),
    response=_EPOCH_RESPONSE,
)

END_QUORUM_EPOCH = api(
    "EndQuorumEpoch",
    54,
    (0, 1),
    flexible_since=1,
    request=(
        CLUSTER_ID,
        _topics(
            field("leaderId", "int32"),
            field("leaderEpoch", "int32"),
            field("preferredSuccessors", "[]int32", until=0),
            structs(
                "preferredCandidates",
                field("candidateId", "int32"),
                field("candidateDirectoryId", "uuid"),
                since=1,
            ),
        ),
        _LEADER_ENDPOINTS,
    ),
    response=_EPOCH_RESPONSE,
)


def _replicas(name: str) -> Field:
    return structs(
        name,
        field("replicaId", "int32"),
        field("replicaDirectoryId", "uuid", since=2),
        field("logEndOffset", "int64"),
        field("lastFetchTimestamp", "int64", since=1, default=-1),
        field("lastCaughtUpTimestamp", "int64", since=1, default=-1),
    )


DESCRIBE_QUORUM = api(
    "DescribeQuorum",
    55,
    (0, 2),
    flexible_since=0,
    request=(_topics(),),
    response=(
        field("errorCode", "int16"),
        field("errorMessage", "string", since=2, nullable=True, default=None),
        _topics(
            field("errorCode", "int16"),
            field("errorMessage", "string", since=2, nullable=True, default=None),
            field("leaderId", "int32"),
            field("leaderEpoch", "int32"),
            field("highWatermark", "int64"),
            _replicas("currentVoters"),
            _replicas("observers"),
        ),
        structs(
            "nodes",
            field("nodeId", "int32"),
            structs("listeners", *LISTENERS),
            since=2,
        ),
    ),
)
