"""AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter, UpdateFeatures and ApiVersions."""

from __future__ import annotations

from replica.errors import KraftlakeError
from replica.model.control import KRAFT_VERSION
from replica.model.kafka_errors import ErrorCode, error_of
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Endpoint, Voter
from replica.node.translate.partition import (
    ReplicatedPartition,
    endpoints_in,
    listeners,
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
from replica.wire.schema import Message
from replica.wire.versions import supported_feature

_WITHOUT_RESULTS = 2
"""The first version of UpdateFeatures that has one answer for all features."""


class InvalidFeatureError(KraftlakeError):
    """An UpdateFeatures about something other than kraft.version."""

    code = ErrorCode.INVALID_UPDATE_VERSION


def write_add(partition: ReplicatedPartition, request: AddVoterRequest, version: int) -> Message:
    """The request. In version 0 it can't ask for an answer before the commit: a replica that joins
    then waits for the commit or, where the commit needs the replica's own fetch, for its request
    timeout."""
    return {
        "clusterId": request.cluster_id,
        "timeoutMs": request.timeout_ms,
        "voterId": request.voter.node_id,
        "voterDirectoryId": request.voter.directory_id,
        "listeners": listeners(request.endpoints),
        "ackWhenCommitted": request.ack_when_committed,
    }


def read_add(partition: ReplicatedPartition, message: Message, version: int) -> AddVoterRequest:
    return AddVoterRequest(
        cluster_id=message["clusterId"],
        voter=ReplicaKey(message["voterId"], message["voterDirectoryId"]),
        endpoints=endpoints_in(message["listeners"]),
        timeout_ms=message["timeoutMs"],
        ack_when_committed=message["ackWhenCommitted"],
    )


def write_remove(
    partition: ReplicatedPartition, request: RemoveVoterRequest, version: int
) -> Message:
    return {
        "clusterId": request.cluster_id,
        "voterId": request.voter.node_id,
        "voterDirectoryId": request.voter.directory_id,
    }


def read_remove(
    partition: ReplicatedPartition, message: Message, version: int
) -> RemoveVoterRequest:
    key = ReplicaKey(message["voterId"], message["voterDirectoryId"])
    return RemoveVoterRequest(cluster_id=message["clusterId"], voter=key)


def write_change_response(
    partition: ReplicatedPartition, response: VoterChangeResponse, version: int
) -> Message:
    """The answer to AddRaftVoter and RemoveRaftVoter."""
    return {
        "errorCode": response.error,
        "errorMessage": response.message or None,
    }


def read_change_response(
    partition: ReplicatedPartition, message: Message, version: int
) -> VoterChangeResponse:
    return VoterChangeResponse(
        error=error_of(message["errorCode"]), message=message["errorMessage"] or ""
    )


def write_update(
    partition: ReplicatedPartition, request: UpdateVoterRequest, version: int
) -> Message:
    voter = request.voter
    return {
        "clusterId": request.cluster_id,
        "currentLeaderEpoch": request.epoch,
        "voterId": voter.key.node_id,
        "voterDirectoryId": voter.key.directory_id,
        "listeners": listeners(voter.endpoints),
        "kRaftVersionFeature": {
            "minSupportedVersion": voter.min_kraft_version,
            "maxSupportedVersion": voter.max_kraft_version,
        },
    }


def read_update(
    partition: ReplicatedPartition, message: Message, version: int
) -> UpdateVoterRequest:
    feature = message["kRaftVersionFeature"]
    voter = Voter(
        ReplicaKey(message["voterId"], message["voterDirectoryId"]),
        endpoints_in(message["listeners"]),
        feature["minSupportedVersion"],
        feature["maxSupportedVersion"],
    )
    epoch = message["currentLeaderEpoch"]
    return UpdateVoterRequest(cluster_id=message["clusterId"], epoch=epoch, voter=voter)


def write_update_response(
    partition: ReplicatedPartition, response: VoterChangeResponse, version: int
) -> Message:
    leader: Message = {"leaderId": response.leader_id, "leaderEpoch": response.epoch}
    for each in response.leader_endpoints:
        if each.name == partition.listener and response.leader_id != NO_NODE:
            leader |= {"host": each.host, "port": each.port}
    return {"errorCode": response.error, "currentLeader": leader}


def read_update_response(
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


def read_features(
    partition: ReplicatedPartition, message: Message, version: int
) -> UpdateFeaturesRequest:
    """The request. Raises InvalidFeatureError for other features, which only Kafka's controller
    knows."""
    updates = message["featureUpdates"]
    if [update["feature"] for update in updates] != [KRAFT_VERSION]:
        raise InvalidFeatureError(f"{KRAFT_VERSION} is the only feature here")
    return UpdateFeaturesRequest(
        kraft_version=updates[0]["maxVersionLevel"], validate_only=message["validateOnly"]
    )


def write_features_response(
    partition: ReplicatedPartition, response: VoterChangeResponse, version: int
) -> Message:
    result = {"errorCode": response.error, "errorMessage": response.message or None}
    if version >= _WITHOUT_RESULTS:
        return result
    return {"results": [{"feature": KRAFT_VERSION, **result}]}


def write_api_versions(
    partition: ReplicatedPartition, request: ApiVersionsRequest, version: int
) -> Message:
    """The request. Kafka's servers refuse an empty name or version (ApiVersionsRequest.isValid)."""
    return {"clientSoftwareName": "kraftlake", "clientSoftwareVersion": "0"}


def read_api_versions_response(
    partition: ReplicatedPartition, message: Message, version: int
) -> ApiVersionsResponse:
    least, most = supported_feature(message, KRAFT_VERSION)
    return ApiVersionsResponse(
        error=error_of(message["errorCode"]), min_kraft_version=least, max_kraft_version=most
    )
