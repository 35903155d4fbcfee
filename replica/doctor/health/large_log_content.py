"""Counts the records of a large segment by type. The bulk reader gives them in chunks."""

from __future__ import annotations

import numpy as np

from replica.doctor.health.log_content import TYPE_BYTE, UNKNOWN, LogContent, type_named, type_of
from replica.format.batch import CONTROL_ATTRIBUTE
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.scan import frames
from replica.scan.native import Longs
from replica.scan.regions import Chunk, Regions
from replica.scan.tables import program_table


def count_large(content: FileContent, base_offset: int | None, counts: LogContent) -> None:
    """Add the records of one segment to `counts`. base_offset: the offset in the file's name; None
    if the name has none."""
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
