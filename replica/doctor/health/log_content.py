"""Counts the records of a log by type, and the bytes of their values.

The second byte of a record's value is its type: KIP-631's frame is version, api key, version, and
all api keys are below 128, so they take one byte. replica.doctor.health.of_directories counts
whole logs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from replica.errors import DataError
from replica.format.batch import CONTROL_ATTRIBUTE
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.control import UnknownControl, decode_control, type_name
from replica.format.record import Record
from replica.format.walk import LocatedBatch
from replica.metadata.records import RECORDS_BY_KEY
from replica.scan import frames
from replica.scan.native import Longs
from replica.scan.regions import Chunk, Regions
from replica.scan.tables import program_table


def count_large(content: FileContent, base_offset: int | None, counts: LogContent) -> None:
    """Add the records of one segment to `counts`. base_offset: the offset in the file's name; None
    where the name has none."""
    inflation = Inflation(content.size)
    regions = Regions(content.source(), 0, base_offset)
    for region in regions.read(program_table(keep_secrets=True)):
        if not isinstance(region, Chunk):
            if region.crc_valid:
                counts.add_batch(content, region, inflation)
            continue
        rows = region.rows[:, : region.row_count]
        attributes = region.batches[frames.BATCH_ATTRIBUTES, rows[frames.ROW_BATCH]]
        is_control = (attributes & CONTROL_ATTRIBUTE) != 0
        for row in np.flatnonzero(is_control).tolist():
            size_bytes = max(int(rows[frames.ROW_VALUE_SIZE, row]), 0)
            counts.add(type_of(region.record(row), is_control=True), size_bytes)
        _count_values(region, rows[:, ~is_control], counts)


def _count_values(chunk: Chunk, rows: Longs, counts: LogContent) -> None:
    """Add the metadata records of a chunk. rows: the rows of these records."""
    long_enough = rows[frames.ROW_VALUE_SIZE] > TYPE_BYTE
    plain, short = rows[:, long_enough], rows[frames.ROW_VALUE_SIZE, ~long_enough]
    keys = chunk.array[plain[frames.ROW_VALUE] + TYPE_BYTE]
    per_type = np.bincount(keys, minlength=1)
    sizes = np.bincount(keys, weights=plain[frames.ROW_VALUE_SIZE])
    for key in np.flatnonzero(per_type).tolist():
        counts.add(type_named(key), int(sizes[key]), int(per_type[key]))
    if short.size:
        counts.add(UNKNOWN, int(np.maximum(short, 0).sum()), short.size)


UNKNOWN = "UNKNOWN_RECORD"
TYPE_BYTE = 1
_ONE_BYTE = 1 << 7
"""The api keys that a varint holds in one byte."""


@dataclass(frozen=True)
class LogContent:
    """The records of a log."""

    counts: Counter[str] = field(default_factory=Counter)
    """The number of records of each type."""
    sizes: Counter[str] = field(default_factory=Counter)
    """The bytes of the records' values, by type; empty where they aren't known."""
    first_at: int | None = None
    """The time of the first batch, in ms since 1970 (UTC); None for an empty log."""
    last_at: int | None = None
    """The time of the last batch, in ms since 1970 (UTC); None for an empty log."""

    def add(self, name: str, size_bytes: int, count: int = 1) -> None:
        """Add `count` records of a type, whose values have this size together."""
        self.counts[name] += count
        self.sizes[name] += size_bytes

    def add_batch(self, content: FileContent, batch: LocatedBatch, inflation: Inflation) -> None:
        """Add the records of one batch. content, inflation: those of the batch's file."""
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
    """The name of a metadata record's type by its api key."""
    schema = RECORDS_BY_KEY.get(api_key) if api_key < _ONE_BYTE else None
    return UNKNOWN if schema is None else schema.name
