"""The control records that the Raft layer writes (Kafka: ControlRecordType, KIP-595/630/853).

The key is two int16: key version (0) and type. replica.format.control_records has the fields of the
values:

    2 LEADER_CHANGE     leader and voters of an epoch; v1 adds each voter's directory id
    3 SNAPSHOT_HEADER   append time (ms) of the last log record that the snapshot contains
    4 SNAPSHOT_FOOTER   nothing
    5 KRAFT_VERSION     finalized kraft.version: 0 static, 1 dynamic voters
    6 KRAFT_VOTERS      the voter set with directory ids and endpoints

Unknown tagged fields are kept, so encoding gives the same bytes back. The values here hold the
whole content of a record, valid or not. The values of replica.model.control hold what the consensus
core may rely on; that module says why there are both.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Any, TypeAlias

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.control_records import CONTROL_PROGRAMS
from replica.message.json_text import Plain, bytes_plain, plain_maker
from replica.message.plain_reader import PlainReader, plain_reader
from replica.message.primitives import Buffer, require
from replica.message.reader import Notes, StructReader, left_over, record_reader
from replica.message.schema import UnknownTags
from replica.message.writer import StructWriter, record_writer
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter

MAX_CONTROL_BYTES = 1024 * 1024
"""The size in bytes of the longest control record that is read. A thousand voters with three
endpoints need a third of it."""

_KEY = struct.Struct(">hh")
_VERSION = struct.Struct(">h")


class ControlType(IntEnum):
    """The control record types of metadata logs, with their names in the tables."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(frozen=True, slots=True)
class LeaderVoter:
    """A voter as LEADER_CHANGE names it."""

    voter_id: int
    directory_id: str | None = None
    """The id of the voter's directory. None in version 0, which has no such field. The tables then
    show NULL, not the zero UUID of a ReplicaKey."""


@dataclass(frozen=True, slots=True)
class KnownControl:
    """The fields that every control record of a known type and version has."""

    version: int
    unknown_tags: UnknownTags = field(default=(), kw_only=True)
    """The tagged fields that this release doesn't know, for each structure of the record."""
    original: bytes | None = field(default=None, kw_only=True)
    """The bytes of the record, if encoding its fields would give other bytes; else None."""


@dataclass(frozen=True, slots=True)
class LeaderChange(KnownControl):
    """The first record of every leader epoch."""

    leader_id: int
    voters: tuple[LeaderVoter, ...]
    granting_voters: tuple[LeaderVoter, ...]


@dataclass(frozen=True, slots=True)
class SnapshotHeader(KnownControl):
    """The first record of a snapshot. The time is in ms since 1970 (UTC)."""

    last_contained_log_timestamp: int


@dataclass(frozen=True, slots=True)
class SnapshotFooter(KnownControl):
    """The last record of a complete snapshot."""


@dataclass(frozen=True, slots=True)
class KRaftVersion(KnownControl):
    """The finalized kraft.version."""

    kraft_version: int


@dataclass(frozen=True, slots=True)
class KRaftVoters(KnownControl):
    """A whole voter set, in force from its append on (KIP-853)."""

    voters: tuple[Voter, ...]


@dataclass(frozen=True, slots=True)
class UnknownControl:
    """A control record of a type or version that this release doesn't know."""

    type_code: int
    """The type in the record's key."""
    version: int
    """The version in the record's value; -1 for an unknown type."""
    value: bytes | str
    """The record's bytes, or the text that replaces redacted bytes."""

    @property
    def is_marker(self) -> bool:
        """Whether the record is a transaction marker (ABORT, COMMIT), which the logs of other
        topics have."""
        return self.type_code in (ControlType.ABORT, ControlType.COMMIT)


ControlMessage: TypeAlias = (
    LeaderChange | SnapshotHeader | SnapshotFooter | KRaftVersion | KRaftVoters | UnknownControl
)
_Fields: TypeAlias = Mapping[str, Any]
_KNOWN = frozenset(code for code, _ in CONTROL_PROGRAMS)


def has_unknown_tags(message: ControlMessage) -> bool:
    """Whether the record, or a structure in it, has tagged fields that this release doesn't
    know."""
    return not isinstance(message, UnknownControl) and bool(message.unknown_tags)


def type_name(message: ControlMessage) -> str:
    """The record's type as the column record_type has it: LEADER_CHANGE, ..., or CONTROL_7 for an
    unknown type."""
    if isinstance(message, UnknownControl):
        try:
            return ControlType(message.type_code).name
        except ValueError:
            return f"CONTROL_{message.type_code}"
    return _TYPE_OF[type(message)].name


def decode_control(key: Buffer | None, value: Buffer | None) -> ControlMessage:
    """The control record with this key and this value. Raises DataError with the byte of the
    value."""
    if key is None or value is None:
        raise CorruptDataError("a control record needs a key and a value", 0)
    require(key, 0, _KEY.size, "control record key")
    _, code = _KEY.unpack_from(key, 0)
    if code not in _KNOWN:
        return UnknownControl(code, -1, bytes(value))
    if len(value) > MAX_CONTROL_BYTES:
        raise UnsupportedDataError(
            f"the control record has {len(value)} bytes, at most {MAX_CONTROL_BYTES} are read", 0
        )
    data = bytes(value)
    require(data, 0, _VERSION.size, "control record version")
    (version,) = _VERSION.unpack_from(data)
    if (code, version) not in CONTROL_PROGRAMS:
        return UnknownControl(code, version, data)
    notes = Notes()
    fields, end = _reader(code, version)(data, 0, notes)
    if end != len(data):
        raise left_over(CONTROL_PROGRAMS[code, version].schema, data, end)
    tags, original = tuple(notes.unknown), data if notes.odd else None
    return _MADE_OF[ControlType(code)](fields, unknown_tags=tags, original=original)


def encode_control(message: ControlMessage) -> tuple[bytes, bytes]:
    """(key, value) bytes of a control record."""
    if isinstance(message, UnknownControl):
        assert isinstance(message.value, bytes), "a redacted record has no bytes to write"
        return _KEY.pack(0, message.type_code), message.value
    kind = _TYPE_OF[type(message)]
    if message.original is not None:
        return control_key(kind), message.original
    out = bytearray()
    write = _writer(kind, message.version)
    write(out, _fields_of(message), (), dict(message.unknown_tags))
    return control_key(kind), bytes(out)


def control_key(kind: ControlType) -> bytes:
    """The key of a control record of this type."""
    return _KEY.pack(0, kind)


def to_plain(message: ControlMessage) -> dict[str, Any]:
    """The message as JSON values, as kafka-dump-log prints it. The bytes of an unknown type are
    base64."""
    if isinstance(message, UnknownControl):
        return {"version": message.version, "raw": bytes_plain(message.value)}
    return dict(_plain(_TYPE_OF[type(message)], message.version)(_fields_of(message)))


def voters_from_plain(data: Mapping[str, Any]) -> KRaftVoters:
    """The voter set from the result of to_plain. Raises CorruptDataError for any other value."""
    return _voters(_voters_reader()({"version": 0, **data}))


@cache
def _voters_reader() -> PlainReader:
    return plain_reader(CONTROL_PROGRAMS[ControlType.KRAFT_VOTERS, 0])


@cache
def _reader(code: int, version: int) -> StructReader:
    return record_reader(CONTROL_PROGRAMS[code, version])


@cache
def _writer(code: int, version: int) -> StructWriter:
    return record_writer(CONTROL_PROGRAMS[code, version])


@cache
def _plain(code: int, version: int) -> Callable[[_Fields], dict[str, Plain]]:
    return plain_maker(CONTROL_PROGRAMS[code, version])


def _leader_change(fields: _Fields, **more: Any) -> LeaderChange:
    named = (
        tuple(LeaderVoter(each["voterId"], each.get("voterDirectoryId")) for each in fields[name])
        for name in ("voters", "grantingVoters")
    )
    return LeaderChange(fields["version"], fields["leaderId"], *named, **more)


def _voters(fields: _Fields, **more: Any) -> KRaftVoters:
    voters = tuple(
        Voter(
            ReplicaKey(each["voterId"], each["voterDirectoryId"]),
            tuple(Endpoint(e["name"], e["host"], e["port"]) for e in each["endpoints"]),
            each["kRaftVersionFeature"]["minSupportedVersion"],
            each["kRaftVersionFeature"]["maxSupportedVersion"],
        )
        for each in fields["voters"]
    )
    return KRaftVoters(fields["version"], voters, **more)


def _flat(made: Callable[..., ControlMessage]) -> Callable[..., ControlMessage]:
    """A function that makes a message whose attributes are the record's fields, in the same
    order."""
    return lambda fields, **more: made(*fields.values(), **more)


_MADE_OF: dict[ControlType, Callable[..., ControlMessage]] = {
    ControlType.LEADER_CHANGE: _leader_change,
    ControlType.SNAPSHOT_HEADER: _flat(SnapshotHeader),
    ControlType.SNAPSHOT_FOOTER: _flat(SnapshotFooter),
    ControlType.KRAFT_VERSION: _flat(KRaftVersion),
    ControlType.KRAFT_VOTERS: _voters,
}
_TYPE_OF = {
    LeaderChange: ControlType.LEADER_CHANGE,
    SnapshotHeader: ControlType.SNAPSHOT_HEADER,
    SnapshotFooter: ControlType.SNAPSHOT_FOOTER,
    KRaftVersion: ControlType.KRAFT_VERSION,
    KRaftVoters: ControlType.KRAFT_VOTERS,
}


def _fields_of(
    message: LeaderChange | SnapshotHeader | SnapshotFooter | KRaftVersion | KRaftVoters,
) -> dict[str, Any]:
    """The message's fields, by the names of control_records."""
    fields: dict[str, Any] = {"version": message.version}
    match message:
        case LeaderChange():
            fields["leaderId"] = message.leader_id
            fields["voters"] = tuple(map(_leader_voter, message.voters))
            fields["grantingVoters"] = tuple(map(_leader_voter, message.granting_voters))
        case SnapshotHeader():
            fields["lastContainedLogTimestamp"] = message.last_contained_log_timestamp
        case KRaftVersion():
            fields["kRaftVersion"] = message.kraft_version
        case KRaftVoters():
            fields["voters"] = tuple(map(_voter, message.voters))
    return fields


def _leader_voter(voter: LeaderVoter) -> dict[str, Any]:
    return {"voterId": voter.voter_id, "voterDirectoryId": voter.directory_id or ""}


def _voter(voter: Voter) -> dict[str, Any]:
    return {
        "voterId": voter.key.node_id,
        "voterDirectoryId": voter.key.directory_id,
        "endpoints": tuple(
            {"name": each.name, "host": each.host, "port": each.port} for each in voter.endpoints
        ),
        "kRaftVersionFeature": {
            "minSupportedVersion": voter.min_kraft_version,
            "maxSupportedVersion": voter.max_kraft_version,
        },
    }
