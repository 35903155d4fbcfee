"""The values that decoding gives: a metadata record, or one that this release doesn't know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from replica.message.schema import RecordSchema, UnknownTags, Value
from replica.metadata.records import RECORDS_BY_KEY, schema_named

FRAME_VERSION = 1
"""The frame version, with which every metadata record's value begins."""


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """A record of a known type and version.

    fields: every field of the version, in declared order, defaults filled in for absent tagged
    fields; to be read only. unknown_tags: tagged fields without a meaning here, per structure.
    original: the bytes it was decoded from, where they are not the ones that encoding the fields
    would give (replica.message.reader.Notes.odd); otherwise None.
    """

    schema: RecordSchema
    version: int
    fields: Mapping[str, Value]
    unknown_tags: UnknownTags = ()
    original: bytes | None = None

    @property
    def type(self) -> str:
        """The name that kafka-dump-log prints, such as TOPIC_RECORD."""
        return self.schema.name

    @property
    def api_key(self) -> int:
        return self.schema.api_key

    def with_fields(self, changes: Mapping[str, Value]) -> MetadataRecord:
        """The record with other values for some fields, and so without its original bytes."""
        assert changes.keys() <= self.fields.keys(), changes.keys()
        return replace(self, fields={**self.fields, **changes}, original=None)


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A well-framed record of an api key or version that this release doesn't know.

    body: the bytes after the envelope; a text in its place once redacted. original: the whole
    value where its envelope holds padded varints, otherwise None.
    """

    api_key: int
    version: int
    body: bytes | str
    original: bytes | None = None

    @property
    def type(self) -> str:
        """The type's name where only the version is new, else UNKNOWN_RECORD."""
        schema = RECORDS_BY_KEY.get(self.api_key)
        return "UNKNOWN_RECORD" if schema is None else schema.name


def new_record(type_name: str, version: int, values: Mapping[str, Value]) -> MetadataRecord:
    """A record of the named type; fields without a value get their default.

    A type, version or field that doesn't exist is the caller's bug, not a state of the world.
    """
    schema = schema_named(type_name)
    assert version in schema.versions, (type_name, version)
    fields = {f.name: f.default for f in schema.fields_at(version)}
    assert values.keys() <= fields.keys(), (type_name, version, values.keys() - fields.keys())
    return MetadataRecord(schema, version, {**fields, **values})
