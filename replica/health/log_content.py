"""What fills a log: how many records of each type it holds, and how many bytes of them.

Large files are counted in runs of the bulk reader, by the second byte of each value, which is the
type (KIP-631's frame: version, api key, version; all of the keys are below 128).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from replica.check.examined import Examined
from replica.errors import DataError
from replica.format.batch import CONTROL_ATTRIBUTE
from replica.format.compression import Inflation
from replica.format.content import Content
from replica.format.control import ControlType, decode_control
from replica.format.directory import SegmentFile
from replica.format.record import Record
from replica.format.segment import LocatedBatch
from replica.metadata.records import RECORDS_BY_KEY
from replica.scan import frames
from replica.scan.native import Longs
from replica.scan.regions import Chunk, Regions
from replica.scan.segments import is_large
from replica.scan.tables import program_table

UNKNOWN = "UNKNOWN_RECORD"
_TYPE_BYTE = 1
_ONE_BYTE = 1 << 7
"""The api keys that a varint holds in one byte."""
_CONTROLS = {control.name.replace("_", "").lower(): control.name for control in ControlType}


@dataclass(frozen=True)
class LogContent:
    """counts, sizes: of records, and bytes of their values, by type; no sizes at all where nobody
    knows the bytes. first_at, last_at: times of
    the first and the last batch in ms since the epoch, None of an empty log."""

    counts: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)
    first_at: int | None = None
    last_at: int | None = None


def content_of(examined: Examined) -> LogContent:
    """Of the segments of one directory, as far as their records can be read."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    times: list[int] = []
    for segment in examined.directory.segments:
        batches = segment.scan.batches
        if batches:
            times += (batches[0].header.base_timestamp, batches[-1].header.max_timestamp)
        if is_large(examined.content_of(segment).size):
            _count_large(examined, segment, counts, sizes)
        else:
            _count_small(examined, segment, counts, sizes)
    ends = (times[0], times[-1]) if times else (None, None)
    return LogContent(counts, sizes, *ends)


def _count_small(
    examined: Examined, segment: SegmentFile, counts: Counter[str], sizes: Counter[str]
) -> None:
    content = examined.content_of(segment)
    inflation = Inflation(content.size)
    for batch in segment.scan.batches:
        if batch.crc_valid:
            _count_batch(content, batch, inflation, counts, sizes)


def _count_batch(
    content: Content,
    batch: LocatedBatch,
    inflation: Inflation,
    counts: Counter[str],
    sizes: Counter[str],
) -> None:
    for record in content.whole_records(batch, inflation):
        name = _type_of(record, is_control=batch.header.is_control)
        counts[name] += 1
        sizes[name] += len(record.value or b"")


def _type_of(record: Record, *, is_control: bool) -> str:
    if is_control:
        try:
            control = decode_control(record.key, record.value)
        except DataError:
            return UNKNOWN
        return _CONTROLS.get(type(control).__name__.lower(), UNKNOWN)
    value = record.value or b""
    return _named(value[_TYPE_BYTE]) if len(value) > _TYPE_BYTE else UNKNOWN


def _named(api_key: int) -> str:
    schema = RECORDS_BY_KEY.get(api_key) if api_key < _ONE_BYTE else None
    return UNKNOWN if schema is None else schema.name


def _count_large(
    examined: Examined, segment: SegmentFile, counts: Counter[str], sizes: Counter[str]
) -> None:
    content = examined.content_of(segment)
    inflation = Inflation(content.size)
    regions = Regions(content.source(), 0, segment.file.name.base_offset)
    for region in regions.read(program_table(keep_secrets=True)):
        if not isinstance(region, Chunk):
            if region.crc_valid:
                _count_batch(content, region, inflation, counts, sizes)
            continue
        rows = region.rows[:, : region.row_count]
        attributes = region.batches[frames.BATCH_ATTRIBUTES, rows[frames.ROW_BATCH]]
        is_control = (attributes & CONTROL_ATTRIBUTE) != 0
        for row in np.flatnonzero(is_control).tolist():
            name = _type_of(region.record(row), is_control=True)
            counts[name] += 1
            sizes[name] += max(int(rows[frames.ROW_VALUE_SIZE, row]), 0)
        _count_values(region, rows[:, ~is_control], counts, sizes)


def _count_values(chunk: Chunk, rows: Longs, counts: Counter[str], sizes: Counter[str]) -> None:
    """The metadata records of a chunk; rows: theirs."""
    long_enough = rows[frames.ROW_VALUE_SIZE] > _TYPE_BYTE
    plain, short = rows[:, long_enough], rows[frames.ROW_VALUE_SIZE, ~long_enough]
    keys = chunk.array[plain[frames.ROW_VALUE] + _TYPE_BYTE]
    found = np.bincount(keys, minlength=1)
    held = np.bincount(keys, weights=plain[frames.ROW_VALUE_SIZE])
    for key in np.flatnonzero(found).tolist():
        counts[_named(key)] += int(found[key])
        sizes[_named(key)] += int(held[key])
    if short.size:
        counts[UNKNOWN] += short.size
        sizes[UNKNOWN] += int(np.maximum(short, 0).sum())
