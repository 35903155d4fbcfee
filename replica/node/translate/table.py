"""Every request of the core with its API, and the four functions between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from replica.node.translate import describing, fetches, membership, votes
from replica.node.translate.partition import Partition
from replica.raft.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    PeerRequest,
    PeerResponse,
    RemoveVoterRequest,
    UpdateFeaturesRequest,
    UpdateVoterRequest,
    VoteRequest,
)
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.apis.fetching import FETCH, FETCH_SNAPSHOT
from replica.wire.apis.membership import (
    ADD_RAFT_VOTER,
    REMOVE_RAFT_VOTER,
    UPDATE_FEATURES,
    UPDATE_RAFT_VOTER,
)
from replica.wire.apis.quorum import (
    BEGIN_QUORUM_EPOCH,
    DESCRIBE_QUORUM,
    END_QUORUM_EPOCH,
    VOTE,
)
from replica.wire.schema import Api, Message

PRE_VOTE_VERSION = 2
VALIDATE_ONLY_VERSION = 1


@dataclass(frozen=True, slots=True)
class ServerSide:
    """read raises InvalidPartitionError or InvalidFeatureError, whose `code` is the answer."""

    read: Callable[[Partition, Message, int], PeerRequest]
    write: Callable[[Partition, Any, int], Message]


@dataclass(frozen=True, slots=True)
class ClientSide:
    """read raises DataError for what isn't an answer to this request."""

    write: Callable[[Partition, Any, int], Message]
    read: Callable[[Partition, Message, int], PeerResponse]


@dataclass(frozen=True, slots=True)
class Translation:
    """server: None for what the wire answers itself. oldest: the first version that has what the
    core needs of it."""

    api: Api
    client: ClientSide
    server: ServerSide | None
    oldest: int = 0

    def least_version(self, request: PeerRequest) -> int:
        """The first version that can say this request without a loss that matters."""
        if isinstance(request, VoteRequest) and request.pre_vote:
            return PRE_VOTE_VERSION
        if isinstance(request, UpdateFeaturesRequest) and request.validate_only:
            return VALIDATE_ONLY_VERSION
        return self.oldest


TRANSLATIONS: dict[type[PeerRequest], Translation] = {
    VoteRequest: Translation(
        VOTE,
        ClientSide(votes.write_vote, votes.read_vote_response),
        ServerSide(votes.read_vote, votes.write_vote_response),
    ),
    BeginQuorumEpochRequest: Translation(
        BEGIN_QUORUM_EPOCH,
        ClientSide(votes.write_begin, votes.read_begin_response),
        ServerSide(votes.read_begin, votes.write_begin_response),
    ),
    EndQuorumEpochRequest: Translation(
        END_QUORUM_EPOCH,
        ClientSide(votes.write_end, votes.read_end_response),
        ServerSide(votes.read_end, votes.write_end_response),
    ),
    FetchRequest: Translation(
        FETCH,
        ClientSide(fetches.write_fetch, fetches.read_fetch_response),
        ServerSide(fetches.read_fetch, fetches.write_fetch_response),
        fetches.OLDEST_OF_REPLICAS,
    ),
    FetchSnapshotRequest: Translation(
        FETCH_SNAPSHOT,
        ClientSide(fetches.write_fetch_snapshot, fetches.read_fetch_snapshot_response),
        ServerSide(fetches.read_fetch_snapshot, fetches.write_fetch_snapshot_response),
    ),
    DescribeQuorumRequest: Translation(
        DESCRIBE_QUORUM,
        ClientSide(describing.write_describe, describing.read_describe_response),
        ServerSide(describing.read_describe, describing.write_describe_response),
    ),
    AddVoterRequest: Translation(
        ADD_RAFT_VOTER,
        ClientSide(membership.write_add, membership.read_change_response),
        ServerSide(membership.read_add, membership.write_change_response),
    ),
    RemoveVoterRequest: Translation(
        REMOVE_RAFT_VOTER,
        ClientSide(membership.write_remove, membership.read_change_response),
        ServerSide(membership.read_remove, membership.write_change_response),
    ),
    UpdateVoterRequest: Translation(
        UPDATE_RAFT_VOTER,
        ClientSide(membership.write_update, membership.read_update_response),
        ServerSide(membership.read_update, membership.write_update_response),
    ),
    UpdateFeaturesRequest: Translation(
        UPDATE_FEATURES,
        ClientSide(membership.write_features, membership.read_features_response),
        ServerSide(membership.read_features, membership.write_features_response),
    ),
    ApiVersionsRequest: Translation(
        API_VERSIONS,
        ClientSide(membership.write_api_versions, membership.read_api_versions_response),
        None,
    ),
}

BY_KEY: dict[int, ServerSide] = {
    each.api.key: each.server for each in TRANSLATIONS.values() if each.server is not None
}
"""The serving side by API key."""

SERVED: dict[int, range] = {
    each.api.key: range(each.oldest, each.api.versions[-1] + 1)
    for each in TRANSLATIONS.values()
    if each.server is not None
}
"""What a replica serves to its peers and administrators: API key -> versions."""


def refusal(code: int) -> Message:
    """An error for the whole request: the same in each of these APIs."""
    return {"errorCode": code}
