"""The voter set and kraft.version: the Raft layer's own state (KIP-853).

Control records hold both. The voter set and kraft.version are in force from their append on,
committed or not, and also within a transaction (Kafka: KRaftControlRecordStateMachine).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from replica.format.control import KRaftVersion, KRaftVoters, to_plain
from replica.metadata.image.kind import EntityKind
from replica.metadata.image.state import State
from replica.model.voters import Voter


def _set_voters(state: State, offset: int, record: KRaftVoters) -> None:
    voters = (
        replace(voter, endpoints=tuple(sorted(voter.endpoints, key=lambda e: (e.name, e.host))))
        for voter in record.voters
    )
    ordered = tuple(sorted(voters, key=lambda voter: voter.key))
    state.voters.put("", ordered, offset)


def _set_version(state: State, offset: int, record: KRaftVersion) -> None:
    state.kraft_version.put("", record.kraft_version, offset)


CONTROL_HANDLERS: dict[type, Callable[[State, int, Any], None]] = {
    KRaftVoters: _set_voters,
    KRaftVersion: _set_version,
}


def _voters_fields(_: str, voters: tuple[Voter, ...]) -> dict[str, Any]:
    return {"voters": to_plain(KRaftVoters(0, voters))["voters"]}


def _version_fields(_: str, version: int) -> dict[str, Any]:
    return {"kRaftVersion": version}


KINDS = (
    EntityKind("voters", "voters", "KRAFT_VOTERS", _voters_fields),
    EntityKind("kraft_version", "kraft_version", "KRAFT_VERSION", _version_fields),
)
