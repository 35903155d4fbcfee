"""quorum-state: a replica's vote and leader, kept across restarts (Kafka: FileQuorumStateStore).

It holds one JSON object, with data_version 0 (static quorums: currentVoters, no directory ids) or 1
(KIP-853: votedDirectoryId). As Kafka does, `decode` refuses an object that lacks a field of its
version. votedUuid, as KIP-853's draft has it, is read in place of votedDirectoryId. Unknown keys
are kept in their place, so encoding gives the same bytes back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.text_file import text_of
from replica.message.primitives import uuid_bytes
from replica.model.keys import NO_NODE, ZERO_UUID

FILE_NAME = "quorum-state"
_VOTED_KEYS = ("votedDirectoryId", "votedUuid", "voterUuid")
"""The key that Kafka uses, and the keys of KIP-853's draft."""
MANDATORY = {
    0: ("clusterId", "leaderId", "leaderEpoch", "votedId", "appliedOffset", "currentVoters"),
    1: ("leaderId", "leaderEpoch", "votedId"),
}
"""The mandatory keys of each version (Kafka: QuorumStateDataJsonConverter). Version 1 must also
have one of _VOTED_KEYS."""
_MAX_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The content of quorum-state."""

    version: int
    leader_id: int
    """The node id of the leader; NO_NODE (-1) for no leader."""
    leader_epoch: int
    voted_id: int
    """The node id of the candidate that got the vote; NO_NODE (-1) for no vote."""
    voted_directory_id: str
    """The directory id of the candidate that got the vote; ZERO_UUID for none."""
    current_voters: tuple[int, ...]
    """The node ids of the voters. Only version 0 has them."""
    fields: tuple[tuple[str, Any], ...]
    """The whole object as it was read, in order."""


def decode(data: bytes) -> QuorumState:
    """The state. Raises DataError with the byte, which is 0 if a field is missing or wrong."""
    return _state(_object(data))


def encode(state: QuorumState) -> bytes:
    """The file's bytes, from `fields`."""
    return json.dumps(dict(state.fields), separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def new_state(
    *,
    version: int,
    leader_id: int,
    leader_epoch: int,
    voted_id: int = NO_NODE,
    voted_directory_id: str = ZERO_UUID,
    current_voters: tuple[int, ...] = (),
) -> QuorumState:
    """A new state, with its keys in Kafka's order. In version 0, clusterId is "" and appliedOffset
    is 0, as Kafka writes them."""
    vote = {"leaderId": leader_id, "leaderEpoch": leader_epoch, "votedId": voted_id}
    if version == 0:
        voters = [{"voterId": voter} for voter in current_voters]
        fields = {"clusterId": "", **vote, "appliedOffset": 0, "currentVoters": voters}
    else:
        fields = {**vote, "votedDirectoryId": voted_directory_id}
    return _state({**fields, "data_version": version})


def _state(fields: dict[str, Any]) -> QuorumState:
    version = _int(fields, "data_version")
    if version not in MANDATORY:
        raise UnsupportedDataError(f"data_version {version}, expected 0 or 1", 0)
    for key in MANDATORY[version]:
        if key not in fields:
            raise CorruptDataError(f"{key} is missing; without it Kafka doesn't start", 0)
    return QuorumState(
        version=version,
        leader_id=_int(fields, "leaderId"),
        leader_epoch=_int(fields, "leaderEpoch"),
        voted_id=_int(fields, "votedId"),
        voted_directory_id=ZERO_UUID if version == 0 else _voted_directory(fields),
        current_voters=_voters(fields) if version == 0 else (),
        fields=tuple(fields.items()),
    )


def _object(data: bytes) -> dict[str, Any]:
    text = text_of(data)
    try:
        value = json.loads(text)
        # an escape may be half of a surrogate pair, which can't be written as UTF-8
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        position = len(text[: error.pos].encode("utf-8"))
        raise CorruptDataError(f"not JSON: {error.msg}", position) from error
    except (RecursionError, ValueError) as error:
        raise CorruptDataError("JSON too deep, or with half a surrogate pair", 0) from error
    if not isinstance(value, dict):
        raise CorruptDataError("not a JSON object", 0)
    return value


def _int(fields: dict[str, Any], key: str) -> int:
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise CorruptDataError(f"{key} is missing or not a number", 0)
    if not -1 <= value <= _MAX_INT32:
        raise CorruptDataError(f"{key} {value} is out of range", 0)
    return value


def _voted_directory(fields: dict[str, Any]) -> str:
    key = next((key for key in _VOTED_KEYS if key in fields), _VOTED_KEYS[0])
    value = fields.get(key)
    if not isinstance(value, str):
        raise CorruptDataError(
            f"{key} is missing or not a text: Kafka doesn't start without one in version 1", 0
        )
    uuid_bytes(value)
    return value


def _voters(fields: dict[str, Any]) -> tuple[int, ...]:
    voters = fields["currentVoters"]
    if not isinstance(voters, list):
        raise CorruptDataError("currentVoters is not a list", 0)
    ids = []
    for voter in voters:
        if not isinstance(voter, dict):
            raise CorruptDataError("currentVoters holds a value that is no object", 0)
        ids.append(_int(voter, "voterId"))
    return tuple(ids)
