"""Counts the records of a log by type, and the bytes of their values.

The second byte of a record's value is its type: KIP-631's frame is version, api key, version, and
all api keys are below 128, so they take one byte. replica.doctor.health.of_directories counts
whole logs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from replica.errors import DataError
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.control import UnknownControl, decode_control, type_name
from replica.format.record import Record
from replica.format.walk import LocatedBatch
from replica.metadata.records import RECORDS_BY_KEY

UNKNOWN = "UNKNOWN_RECORD"
TYPE_BYTE = 1
_ONE_BYTE = 1 << 7
"""Api keys below this number take one byte as a varint."""


@dataclass(frozen=True)
class LogContent:
    """The records of a log."""

    counts: Counter[str] = field(default_factory=Counter)
    """The number of records of each type."""
    sizes: Counter[str] = field(default_factory=Counter)
    """The bytes of the records' values, by type; empty if unknown."""
    first_at: int | None = None
    """The time of the first batch, in ms since 1970 (UTC); None for an empty log."""
    last_at: int | None = None
    """The time of the last batch, in ms since 1970 (UTC); None for an empty log."""

    def add(self, name: str, size_bytes: int, count: int = 1) -> None:
        """Add `count` records of a type, whose values together have this size."""
        self.counts[name] += count
        self.sizes[name] += size_bytes

    def add_batch(self, content: FileContent, batch: LocatedBatch, inflation: Inflation) -> None:
        """Add the records of one batch. content, inflation: of the batch's file."""
        for record in content.whole_records(batch, inflation):
            name = type_of(record, is_control=batch.header.is_control)
            self.add(name, len(record.value or b""))


def type_of(record: Record, *, is_control: bool) -> str:
    """The name of the record's type; UNKNOWN for a type that this release doesn't know."""
    if is_control:
        try:
            control = decode_control(record.key, record.value)
        except DataError:
            return UNKNOWN
        return UNKNOWN if isinstance(control, UnknownControl) else type_name(control)
    value = record.value or b""
    return type_named(value[TYPE_BYTE]) if len(value) > TYPE_BYTE else UNKNOWN


def type_named(api_key: int) -> str:
    """The name of a metadata record's type by its api key; UNKNOWN for an unknown key."""
    schema = RECORDS_BY_KEY.get(api_key) if api_key < _ONE_BYTE else None
    return UNKNOWN if schema is None else schema.name
