"""The control records that the Raft layer writes (Kafka: ControlRecordType, KIP-595/630/853).

The key is two int16: key version (0) and type. The value is a message of flexible encoding whose
first field is its own version:

    2 LEADER_CHANGE     leader and voters of an epoch; v1 adds each voter's directory id
    3 SNAPSHOT_HEADER   append time (ms) of the last log record that the snapshot contains
    4 SNAPSHOT_FOOTER   nothing
    5 KRAFT_VERSION     finalized kraft.version: 0 static, 1 dynamic voters
    6 KRAFT_VOTERS      the voter set with directory ids and endpoints

Unknown tagged fields are kept, so encoding gives the same bytes back.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.primitives import Buffer, read_fixed, require, uuid_bytes, uuid_text
from replica.format.tagged import (
    TaggedFields,
    read_array_length,
    read_string,
    read_tagged,
    write_array_length,
    write_string,
    write_tagged,
)

MAX_CONTROL_BYTES = 1024 * 1024
"""A longer control record is not read; a thousand voters with three endpoints each take a third."""

_KEY = struct.Struct(">hh")
_INT16 = struct.Struct(">h")
_UINT16 = struct.Struct(">H")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")


class ControlType(IntEnum):
    """Control record types a metadata log may hold; the names are those of the tables."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(frozen=True, slots=True)
class LeaderVoter:
    """A voter as LEADER_CHANGE names it; `directory_id` is None in version 0."""

    voter_id: int
    directory_id: str | None = None
    tags: TaggedFields = ()


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """First record of every leader epoch."""

    version: int
    leader_id: int
    voters: tuple[LeaderVoter, ...]
    granting_voters: tuple[LeaderVoter, ...]
    tags: TaggedFields = ()


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    """First record of a snapshot; the time is ms since the epoch."""

    version: int
    last_contained_log_timestamp: int
    tags: TaggedFields = ()


@dataclass(frozen=True, slots=True)
class SnapshotFooter:
    """Last record of a complete snapshot."""

    version: int
    tags: TaggedFields = ()


@dataclass(frozen=True, slots=True)
class KRaftVersion:
    """The finalized kraft.version."""

    version: int
    kraft_version: int
    tags: TaggedFields = ()


@dataclass(frozen=True, slots=True)
class VoterEndpoint:
    """Where a voter listens."""

    name: str
    host: str
    port: int
    tags: TaggedFields = ()


@dataclass(frozen=True, slots=True)
class Voter:
    """A voter with its endpoints and the kraft.version range it supports, both ends inclusive."""

    voter_id: int
    directory_id: str
    endpoints: tuple[VoterEndpoint, ...]
    min_supported_version: int
    max_supported_version: int
    feature_tags: TaggedFields = ()
    tags: TaggedFields = ()


@dataclass(frozen=True, slots=True)
class KRaftVoters:
    """A whole voter set, in force from its append on (KIP-853)."""

    version: int
    voters: tuple[Voter, ...]
    tags: TaggedFields = ()


@dataclass(frozen=True, slots=True)
class UnknownControl:
    """A control type, or a version of one, that this release doesn't know.

    value: the record's bytes; a text in their place once redacted.
    """

    type_code: int
    version: int
    value: bytes | str

    @property
    def is_marker(self) -> bool:
        """A transaction marker of another partition's log: ABORT or COMMIT."""
        return self.type_code in (ControlType.ABORT, ControlType.COMMIT)


ControlMessage: TypeAlias = (
    LeaderChange | SnapshotHeader | SnapshotFooter | KRaftVersion | KRaftVoters | UnknownControl
)

_MAX_VERSION = {
    ControlType.LEADER_CHANGE: 1,
    ControlType.SNAPSHOT_HEADER: 0,
    ControlType.SNAPSHOT_FOOTER: 0,
    ControlType.KRAFT_VERSION: 0,
    ControlType.KRAFT_VOTERS: 0,
}


def has_unknown_tags(message: ControlMessage) -> bool:
    """Whether tagged fields without a meaning here are in it, or in a voter or endpoint of it."""
    if isinstance(message, UnknownControl):
        return False
    return bool(message.tags) or any(_voter_tags(message))


def _voter_tags(message: ControlMessage) -> Iterator[TaggedFields]:
    if isinstance(message, LeaderChange):
        yield from (voter.tags for voter in (*message.voters, *message.granting_voters))
    if isinstance(message, KRaftVoters):
        for voter in message.voters:
            yield voter.feature_tags
            yield voter.tags
            yield from (endpoint.tags for endpoint in voter.endpoints)


def type_name(message: ControlMessage) -> str:
    """The record_type of the tables: LEADER_CHANGE, ..., CONTROL_7 for an unknown type."""
    if isinstance(message, UnknownControl):
        try:
            return ControlType(message.type_code).name
        except ValueError:
            return f"CONTROL_{message.type_code}"
    return _TYPE_OF[type(message)].name


def decode_control(key: Buffer | None, value: Buffer | None) -> ControlMessage:
    """One control record from its key and value bytes; DataError names the byte of the value."""
    if key is None or value is None:
        raise CorruptDataError("a control record needs a key and a value", 0)
    require(key, 0, _KEY.size, "control record key")
    _, code = _KEY.unpack_from(key, 0)
    if code not in _MAX_VERSION:
        return UnknownControl(code, -1, bytes(value))
    if len(value) > MAX_CONTROL_BYTES:
        raise UnsupportedDataError(
            f"a control record of {len(value)} bytes, more than {MAX_CONTROL_BYTES} are not read", 0
        )
    version, at = _int(value, 0, _INT16, "control record version")
    if not 0 <= version <= _MAX_VERSION[ControlType(code)]:
        return UnknownControl(code, version, bytes(value))
    message, end = _DECODERS[ControlType(code)](value, at, version)
    if end != len(value):
        raise CorruptDataError(f"{len(value) - end} bytes follow the control record", end)
    return message


def encode_control(message: ControlMessage) -> tuple[bytes, bytes]:
    """(key, value) bytes of a control record."""
    if isinstance(message, UnknownControl):
        assert isinstance(message.value, bytes), "a redacted record has no bytes to write"
        return _KEY.pack(0, message.type_code), message.value
    out = bytearray(_INT16.pack(message.version))
    _encode_body(out, message)
    write_tagged(out, message.tags)
    return control_key(_TYPE_OF[type(message)]), bytes(out)


def control_key(kind: ControlType) -> bytes:
    """The key of a control record of this type."""
    return _KEY.pack(0, kind)


def _int(buffer: Buffer, at: int, layout: struct.Struct, what: str) -> tuple[int, int]:
    value, end = read_fixed(buffer, at, layout, what)
    return int(value), end


def _read_uuid(buffer: Buffer, at: int) -> tuple[str, int]:
    end = require(buffer, at, 16, "directory id")
    return uuid_text(buffer[at:end]), end


def _decode_leader_voters(
    buffer: Buffer, at: int, version: int
) -> tuple[tuple[LeaderVoter, ...], int]:
    count, at = read_array_length(buffer, at, "voters")
    voters = []
    for _ in range(count):
        voter_id, at = _int(buffer, at, _INT32, "voter id")
        directory_id = None
        if version >= 1:
            directory_id, at = _read_uuid(buffer, at)
        tags, at = read_tagged(buffer, at)
        voters.append(LeaderVoter(voter_id, directory_id, tags))
    return tuple(voters), at


def _decode_leader_change(buffer: Buffer, at: int, version: int) -> tuple[LeaderChange, int]:
    leader_id, at = _int(buffer, at, _INT32, "leader id")
    voters, at = _decode_leader_voters(buffer, at, version)
    granting, at = _decode_leader_voters(buffer, at, version)
    tags, at = read_tagged(buffer, at)
    return LeaderChange(version, leader_id, voters, granting, tags), at


def _decode_header(buffer: Buffer, at: int, version: int) -> tuple[SnapshotHeader, int]:
    timestamp, at = _int(buffer, at, _INT64, "last contained log timestamp")
    tags, at = read_tagged(buffer, at)
    return SnapshotHeader(version, timestamp, tags), at


def _decode_footer(buffer: Buffer, at: int, version: int) -> tuple[SnapshotFooter, int]:
    tags, at = read_tagged(buffer, at)
    return SnapshotFooter(version, tags), at


def _decode_kraft_version(buffer: Buffer, at: int, version: int) -> tuple[KRaftVersion, int]:
    kraft_version, at = _int(buffer, at, _INT16, "kraft.version")
    tags, at = read_tagged(buffer, at)
    return KRaftVersion(version, kraft_version, tags), at


def _decode_endpoint(buffer: Buffer, at: int) -> tuple[VoterEndpoint, int]:
    name, at = read_string(buffer, at, "endpoint name")
    host, at = read_string(buffer, at, "endpoint host")
    port, at = _int(buffer, at, _UINT16, "endpoint port")
    tags, at = read_tagged(buffer, at)
    return VoterEndpoint(name, host, port, tags), at


def _decode_voter(buffer: Buffer, at: int) -> tuple[Voter, int]:
    voter_id, at = _int(buffer, at, _INT32, "voter id")
    directory_id, at = _read_uuid(buffer, at)
    count, at = read_array_length(buffer, at, "endpoints")
    endpoints = []
    for _ in range(count):
        endpoint, at = _decode_endpoint(buffer, at)
        endpoints.append(endpoint)
    lowest, at = _int(buffer, at, _INT16, "minimum kraft.version")
    highest, at = _int(buffer, at, _INT16, "maximum kraft.version")
    feature_tags, at = read_tagged(buffer, at)
    tags, at = read_tagged(buffer, at)
    return (
        Voter(voter_id, directory_id, tuple(endpoints), lowest, highest, feature_tags, tags),
        at,
    )


def _decode_voters(buffer: Buffer, at: int, version: int) -> tuple[KRaftVoters, int]:
    count, at = read_array_length(buffer, at, "voters")
    voters = []
    for _ in range(count):
        voter, at = _decode_voter(buffer, at)
        voters.append(voter)
    tags, at = read_tagged(buffer, at)
    return KRaftVoters(version, tuple(voters), tags), at


_DECODERS: dict[ControlType, Callable[[Buffer, int, int], tuple[ControlMessage, int]]] = {
    ControlType.LEADER_CHANGE: _decode_leader_change,
    ControlType.SNAPSHOT_HEADER: _decode_header,
    ControlType.SNAPSHOT_FOOTER: _decode_footer,
    ControlType.KRAFT_VERSION: _decode_kraft_version,
    ControlType.KRAFT_VOTERS: _decode_voters,
}
_TYPE_OF = {
    LeaderChange: ControlType.LEADER_CHANGE,
    SnapshotHeader: ControlType.SNAPSHOT_HEADER,
    SnapshotFooter: ControlType.SNAPSHOT_FOOTER,
    KRaftVersion: ControlType.KRAFT_VERSION,
    KRaftVoters: ControlType.KRAFT_VOTERS,
}


def _encode_leader_voters(out: bytearray, voters: tuple[LeaderVoter, ...], version: int) -> None:
    write_array_length(out, len(voters))
    for voter in voters:
        out += _INT32.pack(voter.voter_id)
        if version >= 1:
            out += uuid_bytes(voter.directory_id or "")
        write_tagged(out, voter.tags)


def _encode_voter(out: bytearray, voter: Voter) -> None:
    out += _INT32.pack(voter.voter_id) + uuid_bytes(voter.directory_id)
    write_array_length(out, len(voter.endpoints))
    for endpoint in voter.endpoints:
        write_string(out, endpoint.name)
        write_string(out, endpoint.host)
        out += _UINT16.pack(endpoint.port)
        write_tagged(out, endpoint.tags)
    out += _INT16.pack(voter.min_supported_version) + _INT16.pack(voter.max_supported_version)
    write_tagged(out, voter.feature_tags)
    write_tagged(out, voter.tags)


def _encode_body(out: bytearray, message: ControlMessage) -> None:
    if isinstance(message, LeaderChange):
        out += _INT32.pack(message.leader_id)
        _encode_leader_voters(out, message.voters, message.version)
        _encode_leader_voters(out, message.granting_voters, message.version)
    elif isinstance(message, SnapshotHeader):
        out += _INT64.pack(message.last_contained_log_timestamp)
    elif isinstance(message, KRaftVersion):
        out += _INT16.pack(message.kraft_version)
    elif isinstance(message, KRaftVoters):
        write_array_length(out, len(message.voters))
        for voter in message.voters:
            _encode_voter(out, voter)
