"""Translates Vote, BeginQuorumEpoch and EndQuorumEpoch."""

from __future__ import annotations

from typing import Any

from replica.model.keys import NO_NODE, ReplicaKey
from replica.node.translate.translation import (
    CLUSTER,
    LEADER,
    Part,
    endpoints,
    key,
    same,
    translated,
)
from replica.raft.messages import BeginQuorumEpochRequest, EndQuorumEpochRequest, VoteRequest
from replica.wire.apis import quorum
from replica.wire.schema import Message

_SINCE_PRE_VOTES = 2


def _write_receiver(request: VoteRequest | BeginQuorumEpochRequest) -> Message:
    receiver = ReplicaKey(NO_NODE) if request.voter is None else request.voter
    return {"voterId": receiver.node_id, "voterDirectoryId": receiver.directory_id}


def _read_receiver(fields: Message, version: int) -> dict[str, Any]:
    node_id = fields["voterId"]
    return {"voter": None if node_id < 0 else ReplicaKey(node_id, fields["voterDirectoryId"])}


def _write_successors(request: EndQuorumEpochRequest) -> Message:
    return {
        "preferredSuccessors": [each.node_id for each in request.preferred_successors],
        "preferredCandidates": [
            {"candidateId": each.node_id, "candidateDirectoryId": each.directory_id}
            for each in request.preferred_successors
        ],
    }


def _read_successors(fields: Message, version: int) -> dict[str, Any]:
    """The successors. Version 0 names only their node ids."""
    if version == 0:
        found = [ReplicaKey(node_id) for node_id in fields["preferredSuccessors"]]
    else:
        found = [
            ReplicaKey(each["candidateId"], each["candidateDirectoryId"])
            for each in fields["preferredCandidates"]
        ]
    return {"preferred_successors": tuple(found)}


_RECEIVER = Part(_write_receiver, _read_receiver)
_ENDPOINTS = endpoints("leader_endpoints", "leaderEndpoints")

VOTE = translated(
    quorum.VOTE,
    VoteRequest,
    (
        CLUSTER,
        same(epoch="replicaEpoch", last_epoch="lastOffsetEpoch", end_offset="lastOffset"),
        same(pre_vote="preVote"),
        key("candidate", "replicaId", "replicaDirectoryId"),
        _RECEIVER,
    ),
    (LEADER, same(granted="voteGranted")),
    needed=lambda request: _SINCE_PRE_VOTES if request.pre_vote else 0,
)
"""Version 0 names no directory ids and no receiver. Only version 2 has pre-votes: in older versions
a pre-vote would be a vote."""
BEGIN_QUORUM_EPOCH = translated(
    quorum.BEGIN_QUORUM_EPOCH,
    BeginQuorumEpochRequest,
    (CLUSTER, LEADER, _ENDPOINTS, _RECEIVER),
    (LEADER,),
)
"""Version 0 names no endpoints and no receiver."""
END_QUORUM_EPOCH = translated(
    quorum.END_QUORUM_EPOCH,
    EndQuorumEpochRequest,
    (CLUSTER, LEADER, _ENDPOINTS, Part(_write_successors, _read_successors)),
    (LEADER,),
)
