"""What a node says about itself: versions of requests, features, and its identity (KIP-35, 511,
584, 1242)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.schema import Api, Message

_SINCE_LEVEL_0 = 4
"""The first version of ApiVersions whose clients accept a feature whose range begins at 0
(KAFKA-17011)."""

Versions = Mapping[int, range]
"""API key -> the versions that a node serves."""


@dataclass(frozen=True, slots=True)
class Features:
    """Features by name (KIP-584)."""

    supported: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The supported levels of each feature: lowest and highest, both inclusive."""
    finalized: Mapping[str, int] = field(default_factory=dict)
    """The level of each finalized feature."""
    finalized_epoch: int = -1
    """The epoch of the finalized levels; -1 while no level is known to be finalized."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The node and the cluster to which a client connects, as Metadata names them."""

    cluster_id: str
    node_id: int


def newest_common(api: Api, theirs: Versions, least: int = 0) -> int | None:
    """The newest version, from `least` on, that `api` declares and the other side serves; None if
    there is no such version."""
    common = [version for version in api.versions if version in theirs.get(api.key, ())]
    return common[-1] if common and common[-1] >= least else None


def identity_error(request: Message, own: Identity | None) -> ErrorCode:
    """The error for an ApiVersions request that is meant for another node; NONE for a request that
    is meant for this node (KafkaApis, ApiVersionsRequest.isValid).

    A request that names neither cluster nor node is for any node. own: the identity of this server;
    None for a server that doesn't know its identity, and checks nothing.
    """
    cluster_id, node_id = request["clusterId"], request["nodeId"]
    if (cluster_id is None) != (node_id == NO_NODE):
        return ErrorCode.INVALID_REQUEST
    if cluster_id is None or own is None or Identity(cluster_id, node_id) == own:
        return ErrorCode.NONE
    return ErrorCode.REBOOTSTRAP_REQUIRED


def api_versions_response(served: Versions, features: Features, version: int) -> Message:
    """The answer to ApiVersions in this version."""
    return {
        "apiKeys": _ranges(served),
        "supportedFeatures": [
            {"name": name, "minVersion": least, "maxVersion": most}
            for name, (least, most) in sorted(features.supported.items())
            if least > 0 or version >= _SINCE_LEVEL_0
        ],
        "finalizedFeaturesEpoch": features.finalized_epoch,
        "finalizedFeatures": [
            {"name": name, "maxVersionLevel": level, "minVersionLevel": level}
            for name, level in sorted(features.finalized.items())
        ],
    }


def unsupported_api_versions(served: Versions) -> Message:
    """The answer to ApiVersions in a version that isn't served. The answer has version 0, and names
    only the served versions of ApiVersions, so that the client can ask again."""
    own = {key: versions for key, versions in served.items() if key == API_VERSIONS.key}
    return {"errorCode": int(ErrorCode.UNSUPPORTED_VERSION), "apiKeys": _ranges(own)}


def versions_in(response: Message) -> dict[int, range]:
    """The versions in an ApiVersions response, including versions of unknown APIs."""
    return {
        entry["apiKey"]: range(entry["minVersion"], entry["maxVersion"] + 1)
        for entry in response["apiKeys"]
    }


def supported_feature(response: Message, name: str) -> tuple[int, int]:
    """The lowest and the highest level of a feature, both inclusive; 0 and 0 for a node that
    doesn't know the feature."""
    for entry in response["supportedFeatures"]:
        if entry["name"] == name:
            return entry["minVersion"], entry["maxVersion"]
    return 0, 0


def _ranges(served: Versions) -> list[Message]:
    return [
        {"apiKey": key, "minVersion": versions[0], "maxVersion": versions[-1]}
        for key, versions in sorted(served.items())
    ]
