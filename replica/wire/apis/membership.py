"""AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter (KIP-853, 1186), UpdateFeatures (KIP-584) and
UnregisterController."""

from __future__ import annotations

from replica.wire.apis.parts import CLUSTER_ID, ERROR_MESSAGE, LISTENERS
from replica.wire.schema import api, field, structs

_RESULT = (
    field("throttleTimeMs", "int32"),
    field("errorCode", "int16"),
    ERROR_MESSAGE,
)
_VOTER = (field("voterId", "int32"), field("voterDirectoryId", "uuid"))

ADD_RAFT_VOTER = api(
    "AddRaftVoter",
    80,
    (0, 1),
    flexible_since=0,
    request=(
        CLUSTER_ID,
        field("timeoutMs", "int32"),
        *_VOTER,
        structs("listeners", *LISTENERS),
        field("ackWhenCommitted", "bool", since=1, default=True),
    ),
    response=_RESULT,
)

REMOVE_RAFT_VOTER = api(
    "RemoveRaftVoter",
    81,
    (0, 0),
    flexible_since=0,
    request=(CLUSTER_ID, *_VOTER),
    response=_RESULT,
)

UPDATE_RAFT_VOTER = api(
    "UpdateRaftVoter",
    82,
    (0, 0),
    flexible_since=0,
    request=(
        CLUSTER_ID,
        field("currentLeaderEpoch", "int32"),
        *_VOTER,
        structs("listeners", *LISTENERS),
        field(
            "kRaftVersionFeature",
            "struct",
            field("minSupportedVersion", "int16"),
            field("maxSupportedVersion", "int16"),
        ),
    ),
    response=(
        field("throttleTimeMs", "int32"),
        field("errorCode", "int16"),
        field(
            "currentLeader",
            "struct",
            field("leaderId", "int32", default=-1),
            field("leaderEpoch", "int32", default=-1),
            field("host", "string"),
            field("port", "int32"),
            tag=0,
        ),
    ),
)

UPDATE_FEATURES = api(
    "UpdateFeatures",
    57,
    (0, 2),
    flexible_since=0,
    request=(
        field("timeoutMs", "int32", default=60_000),
        structs(
            "featureUpdates",
            field("feature", "string"),
            field("maxVersionLevel", "int16"),
            field("allowDowngrade", "bool", until=0),
            field("upgradeType", "int8", since=1, default=1),
        ),
        field("validateOnly", "bool", since=1),
    ),
    response=(
        *_RESULT,
        structs(
            "results",
            field("feature", "string"),
            field("errorCode", "int16"),
            ERROR_MESSAGE,
            until=1,
        ),
    ),
)

UNREGISTER_CONTROLLER = api(
    "UnregisterController",
    94,
    (0, 0),
    flexible_since=0,
    request=(field("controllerId", "int32"),),
    response=_RESULT,
)
