"""Declares Kafka's messages: the controller's records in replica.metadata.records, the Raft layer's
records in replica.format.control_records, requests and responses in replica.wire.apis.

A message consists of the fields of its version: the untagged fields in declared order and then, in
KIP-482's flexible encoding, the tagged fields by rising tag. Records are always flexible.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

Scalar: TypeAlias = int | float | str | bytes | bool | None
Value: TypeAlias = "Scalar | tuple[Value, ...] | dict[str, Value]"
"""A field's value: a uuid is its text of 22 characters, an array a tuple, a structure a dict."""

REDACTED = "***:"
"""The beginning of a text that replaces a secret."""

TaggedFields: TypeAlias = tuple[tuple[int, bytes], ...]
"""The tagged fields of one structure: the tag and the raw bytes of each."""

Path: TypeAlias = tuple[str | int, ...]
"""The place of a structure in a record: () for the record itself, ("endPoints", 2) for the third
structure of that array."""

UnknownTags: TypeAlias = tuple[tuple[Path, TaggedFields], ...]
"""The tagged fields of a record that its schema doesn't know, for each structure that has some."""


FOREVER = 2**15 - 1
"""The highest possible version: versions are int16 in the protocol."""


class Kind(Enum):
    """The type of a field, or of an array's elements."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    FLOAT64 = "float64"
    UUID = "uuid"
    STRING = "string"
    BYTES = "bytes"
    STRUCT = "struct"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a structure. The versions from `since` to `until` (both inclusive) have it."""

    name: str
    """The name of the field in Kafka's JSON."""
    kind: Kind
    is_array: bool
    since: int
    until: int
    nullable_since: int | None
    """The first version that allows null; None if no version allows it."""
    tag: int | None
    """The tag of the field; None for a field that is always written. A tagged field that holds its
    default is left out of bytes and JSON."""
    default: Any
    """The value of an absent tagged field, and of a new message's field without a value."""
    fields: tuple[Field, ...]
    """The fields of a structure; empty for any other kind."""

    def is_nullable(self, version: int) -> bool:
        return self.nullable_since is not None and self.nullable_since <= version


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """A record type."""

    name: str
    """The name that kafka-dump-log prints."""
    api_key: int
    """The type number of a control record, or the api key of a metadata record."""
    newest: int
    """The newest version; the oldest version is 0."""
    fields: tuple[Field, ...]

    @property
    def versions(self) -> range:
        return range(self.newest + 1)

    def fields_at(self, version: int) -> tuple[Field, ...]:
        """The fields of one version, in declared order."""
        return fields_at(self.fields, version)


def fields_at(fields: tuple[Field, ...], version: int) -> tuple[Field, ...]:
    """The fields of a structure in one version, in declared order."""
    return tuple(f for f in fields if f.since <= version <= f.until)


def record(name: str, *fields: Field, api_key: int, newest: int = 0) -> RecordSchema:
    """The schema of one record type, with its fields in declared order."""
    return RecordSchema(name, api_key, newest, fields)


_EMPTY_OF_KIND: dict[Kind, Scalar] = {
    Kind.BOOL: False,
    Kind.FLOAT64: 0.0,
    Kind.UUID: "AAAAAAAAAAAAAAAAAAAAAA",
    Kind.STRING: "",
    Kind.BYTES: b"",
}
"""The default of a field by its kind, for kinds whose default isn't the number 0."""
_UNSET = object()


def declare(
    name: str,
    type_name: str,
    *fields: Field,
    since: int = 0,
    until: int = FOREVER,
    nullable: bool = False,
    nullable_since: int | None = None,
    tag: int | None = None,
    default: Any = _UNSET,
) -> Field:
    """A field of a table. type_name: the value of a Kind, with [] in front for an array. nullable:
    whether every version that has the field allows null. See Field for the other arguments. Raises
    ValueError for a structure without fields, and for fields of another kind."""
    is_array = type_name.startswith("[]")
    kind = Kind(type_name.removeprefix("[]"))
    if bool(fields) != (kind is Kind.STRUCT):
        raise ValueError(f"{name}: a structure needs fields, and other types have none")
    if default is _UNSET and is_array:
        default = ()
    elif default is _UNSET and kind is Kind.STRUCT:
        default = {inner.name: inner.default for inner in fields}
    elif default is _UNSET:
        default = _EMPTY_OF_KIND.get(kind, 0)
    if nullable:
        nullable_since = since
    return Field(name, kind, is_array, since, until, nullable_since, tag, default, fields)
