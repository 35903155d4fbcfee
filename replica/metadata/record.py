"""The values that decoding gives: a metadata record, or a record that this release doesn't know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from replica.message.schema import RecordSchema, UnknownTags, Value
from replica.metadata.records import RECORDS_BY_KEY, RECORDS_BY_NAME

FRAME_VERSION = 1
"""The frame version, with which every metadata record's value begins."""


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """A record of a known type and version."""

    schema: RecordSchema
    version: int
    fields: Mapping[str, Value]
    """The value of every field of the version, in declared order. Nobody may change the mapping.
    Absent tagged fields have their defaults."""
    unknown_tags: UnknownTags = ()
    """The tagged fields that this release doesn't know, for each structure of the record."""
    original: bytes | None = None
    """The record's bytes, if encoding its fields would give other bytes
    (replica.message.reader.Notes.odd); else None."""

    @property
    def type(self) -> str:
        """The name that kafka-dump-log prints, such as TOPIC_RECORD."""
        return self.schema.name

    @property
    def api_key(self) -> int:
        return self.schema.api_key

    def with_fields(self, changes: Mapping[str, Value]) -> MetadataRecord:
        """The record with other values of some fields, and without its original bytes."""
        assert changes.keys() <= self.fields.keys(), changes.keys()
        return replace(self, fields={**self.fields, **changes}, original=None)


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A record whose api key or version this release doesn't know. Its envelope (frame version, api
    key and version) is valid."""

    api_key: int
    version: int
    body: bytes | str
    """The bytes after the envelope, or the text that replaces redacted bytes."""
    original: bytes | None = None
    """The whole value if its envelope has padded varints; else None."""

    @property
    def type(self) -> str:
        """The type's name if only the version is unknown, else UNKNOWN_RECORD."""
        schema = RECORDS_BY_KEY.get(self.api_key)
        return "UNKNOWN_RECORD" if schema is None else schema.name


@dataclass(frozen=True, slots=True)
class PassedOverRecord:
    """A record of a type that replica.metadata.passed_over names. A replay ignores such a
    record."""

    api_key: int


def new_record(type_name: str, version: int, values: Mapping[str, Value]) -> MetadataRecord:
    """A record of the named type. Fields without a value get their default.

    A type, version or field that doesn't exist is a bug of the caller, and fails an assertion.
    """
    schema = RECORDS_BY_NAME[type_name]
    assert version in schema.versions, (type_name, version)
    fields = {f.name: f.default for f in schema.fields_at(version)}
    assert values.keys() <= fields.keys(), (type_name, version, values.keys() - fields.keys())
    return MetadataRecord(schema, version, {**fields, **values})
