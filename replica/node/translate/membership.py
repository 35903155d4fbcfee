"""Translates AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter, UpdateFeatures and ApiVersions."""

from __future__ import annotations

from typing import Any

from replica.model.control import KRAFT_VERSION
from replica.model.kafka_errors import ErrorCode, error_of
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter
from replica.node.translate.partition import (
    RefusedRequestError,
    ReplicatedPartition,
    endpoints_in,
    listeners,
    node_endpoints,
)
from replica.node.translate.translation import (
    CLUSTER,
    ClientSide,
    Part,
    RequestForm,
    ServerSide,
    Translation,
    endpoints,
    key,
    same,
    translated,
)
from replica.raft.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveVoterRequest,
    UpdateFeaturesRequest,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from replica.wire.apis import cluster, membership
from replica.wire.schema import Message
from replica.wire.versions import supported_feature

_WITHOUT_RESULTS = 2
"""The first version of UpdateFeatures that has one answer for all features."""


def _write_voter(request: UpdateVoterRequest) -> Message:
    voter = request.voter
    return {
        "voterId": voter.key.node_id,
        "voterDirectoryId": voter.key.directory_id,
        "listeners": listeners(voter.endpoints),
        "kRaftVersionFeature": {
            "minSupportedVersion": voter.min_kraft_version,
            "maxSupportedVersion": voter.max_kraft_version,
        },
    }


def _read_voter(fields: Message, version: int) -> dict[str, Any]:
    feature = fields["kRaftVersionFeature"]
    voter = Voter(
        ReplicaKey(fields["voterId"], fields["voterDirectoryId"]),
        endpoints_in(fields["listeners"]),
        feature["minSupportedVersion"],
        feature["maxSupportedVersion"],
    )
    return {"voter": voter}


def _write_update_response(
    partition: ReplicatedPartition, response: VoterChangeResponse, version: int
) -> Message:
    leader: Message = {"leaderId": response.leader_id, "leaderEpoch": response.epoch}
    for node in node_endpoints(partition, response):
        leader |= {"host": node["host"], "port": node["port"]}
    return {"errorCode": response.error, "currentLeader": leader}


def _read_update_response(
    partition: ReplicatedPartition, message: Message, version: int
) -> VoterChangeResponse:
    leader = message["currentLeader"]
    endpoint = Endpoint(partition.listener, leader["host"], leader["port"])
    return VoterChangeResponse(
        error=error_of(message["errorCode"]),
        epoch=leader["leaderEpoch"],
        leader_id=leader["leaderId"],
        leader_endpoints=(endpoint,) if leader["host"] else (),
    )


def _read_features(
    partition: ReplicatedPartition, message: Message, version: int
) -> UpdateFeaturesRequest:
    """The request. Raises RefusedRequestError for other features, which only Kafka's controller
    knows."""
    updates = message["featureUpdates"]
    if [update["feature"] for update in updates] != [KRAFT_VERSION]:
        why = f"{KRAFT_VERSION} is the only feature here"
        raise RefusedRequestError(ErrorCode.INVALID_UPDATE_VERSION, why)
    return UpdateFeaturesRequest(
        kraft_version=updates[0]["maxVersionLevel"], validate_only=message["validateOnly"]
    )


def _write_features_response(
    partition: ReplicatedPartition, response: VoterChangeResponse, version: int
) -> Message:
    result = {"errorCode": response.error, "errorMessage": response.message or None}
    if version >= _WITHOUT_RESULTS:
        return result
    return {"results": [{"feature": KRAFT_VERSION, **result}]}


def _write_api_versions(
    partition: ReplicatedPartition, request: ApiVersionsRequest, version: int
) -> Message:
    """The request. Kafka's servers refuse an empty name or version (ApiVersionsRequest.isValid)."""
    return {"clientSoftwareName": "kraftlake", "clientSoftwareVersion": "0"}


def _read_api_versions_response(
    partition: ReplicatedPartition, message: Message, version: int
) -> ApiVersionsResponse:
    least, most = supported_feature(message, KRAFT_VERSION)
    return ApiVersionsResponse(
        error=error_of(message["errorCode"]), min_kraft_version=least, max_kraft_version=most
    )


_VOTER = key("voter", "voterId", "voterDirectoryId")
_MESSAGE = Part(
    lambda response: {"errorMessage": response.message or None},
    lambda fields, version: {"message": fields["errorMessage"] or ""},
)

ADD_RAFT_VOTER = translated(
    membership.ADD_RAFT_VOTER,
    AddVoterRequest,
    (
        CLUSTER,
        _VOTER,
        endpoints("endpoints", "listeners"),
        same(timeout_ms="timeoutMs", ack_when_committed="ackWhenCommitted"),
    ),
    (_MESSAGE,),
)
"""In version 0 the request can't ask for an answer before the commit. A replica that joins then
waits for the commit, or for its request timeout if the commit needs the replica's own fetch."""
REMOVE_RAFT_VOTER = translated(
    membership.REMOVE_RAFT_VOTER, RemoveVoterRequest, (CLUSTER, _VOTER), (_MESSAGE,)
)
_UPDATE = RequestForm(
    membership.UPDATE_RAFT_VOTER.request,
    UpdateVoterRequest,
    (CLUSTER, same(epoch="currentLeaderEpoch"), Part(_write_voter, _read_voter)),
)
UPDATE_RAFT_VOTER = Translation(
    UpdateVoterRequest,
    membership.UPDATE_RAFT_VOTER,
    ClientSide(_UPDATE.write, _read_update_response),
    ServerSide(_UPDATE.read, _write_update_response),
)
UPDATE_KRAFT_VERSION = Translation(
    UpdateFeaturesRequest,
    membership.UPDATE_FEATURES,
    None,
    ServerSide(_read_features, _write_features_response),
)
API_VERSIONS = Translation(
    ApiVersionsRequest,
    cluster.API_VERSIONS,
    ClientSide(_write_api_versions, _read_api_versions_response),
    None,
)
