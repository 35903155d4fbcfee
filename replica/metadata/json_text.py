"""Kafka's JSON of a metadata record's data (replica.message.json_text), and records made from such
JSON. The tables keep the JSON of every record. Of a record with a secret, the tables keep only this
JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from replica.errors import UnsupportedDataError
from replica.message.json_text import Plain, bytes_plain, plain_maker, text_of
from replica.message.plain_reader import PlainReader, plain_reader
from replica.message.schema import Value
from replica.metadata.programs import by_key
from replica.metadata.record import MetadataRecord, UnknownRecord
from replica.metadata.records import RECORDS_BY_NAME


def json_text(record: MetadataRecord | UnknownRecord) -> str:
    """The object of to_plain as JSON text in one line. For a known record this text is the line
    that kafka-dump-log prints."""
    return text_of(to_plain(record))


def to_plain(record: MetadataRecord | UnknownRecord) -> dict[str, Plain]:
    """The record's fields as a JSON object. An unknown record has apiKey, version and body."""
    if isinstance(record, UnknownRecord):
        body = bytes_plain(record.body)
        return {"apiKey": record.api_key, "version": record.version, "body": body}
    return _plain_makers()[record.api_key, record.version](record.fields)


@cache
def _plain_makers() -> dict[tuple[int, int], Callable[[Mapping[str, Value]], dict[str, Plain]]]:
    return by_key(plain_maker)


def from_plain(type_name: str, version: int, data: Mapping[str, Any]) -> MetadataRecord:
    """The record of the named type with these fields; fields that the version lacks are ignored.

    Raises UnsupportedDataError for a type or version that this release doesn't know, and
    CorruptDataError for a field that is missing or of another type.
    """
    schema = RECORDS_BY_NAME.get(type_name)
    read = None if schema is None else _plain_readers().get((schema.api_key, version))
    if schema is None or read is None:
        raise UnsupportedDataError(
            f"{type_name} version {version} is unknown to this release of kraftlake", 0
        )
    return MetadataRecord(schema, version, read(data))


@cache
def _plain_readers() -> dict[tuple[int, int], PlainReader]:
    return by_key(plain_reader)
