"""Control records in the JSON shape that kafka-dump-log prints."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from replica.format.control import (
    ControlMessage,
    KRaftVersion,
    KRaftVoters,
    LeaderChange,
    LeaderVoter,
    SnapshotFooter,
    SnapshotHeader,
    UnknownControl,
    Voter,
    VoterEndpoint,
)


def to_plain(message: ControlMessage) -> dict[str, Any]:
    """The message as JSON values, keys in Kafka's order; an unknown one as base64 of its value."""
    if isinstance(message, UnknownControl):
        raw = message.value
        text = raw if isinstance(raw, str) else base64.b64encode(raw).decode("ascii")
        return {"version": message.version, "raw": text}
    return {"version": message.version, **_body(message)}


def _body(
    message: LeaderChange | SnapshotHeader | SnapshotFooter | KRaftVersion | KRaftVoters,
) -> dict[str, Any]:
    if isinstance(message, LeaderChange):
        return {
            "leaderId": message.leader_id,
            "voters": [_leader_voter(voter) for voter in message.voters],
            "grantingVoters": [_leader_voter(voter) for voter in message.granting_voters],
        }
    if isinstance(message, SnapshotHeader):
        return {"lastContainedLogTimestamp": message.last_contained_log_timestamp}
    if isinstance(message, KRaftVersion):
        return {"kRaftVersion": message.kraft_version}
    if isinstance(message, KRaftVoters):
        return {"voters": [_voter(voter) for voter in message.voters]}
    return {}


def _leader_voter(voter: LeaderVoter) -> dict[str, Any]:
    if voter.directory_id is None:
        return {"voterId": voter.voter_id}
    return {"voterId": voter.voter_id, "voterDirectoryId": voter.directory_id}


def _voter(voter: Voter) -> dict[str, Any]:
    return {
        "voterId": voter.voter_id,
        "voterDirectoryId": voter.directory_id,
        "endpoints": [
            {"name": endpoint.name, "host": endpoint.host, "port": endpoint.port}
            for endpoint in voter.endpoints
        ],
        "kRaftVersionFeature": {
            "minSupportedVersion": voter.min_supported_version,
            "maxSupportedVersion": voter.max_supported_version,
        },
    }


def voters_from_plain(data: Mapping[str, Any]) -> KRaftVoters:
    """The voter set back from to_plain's form; KeyError or TypeError for anything else."""
    return KRaftVoters(data.get("version", 0), tuple(map(_voter_from_plain, data["voters"])))


def _voter_from_plain(data: Mapping[str, Any]) -> Voter:
    supported = data["kRaftVersionFeature"]
    return Voter(
        data["voterId"],
        data["voterDirectoryId"],
        tuple(VoterEndpoint(e["name"], e["host"], e["port"]) for e in data["endpoints"]),
        supported["minSupportedVersion"],
        supported["maxSupportedVersion"],
    )
