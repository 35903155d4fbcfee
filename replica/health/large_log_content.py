"""The records of a large segment by type, counted by the bulk reader in chunks."""

from __future__ import annotations

from collections import Counter

import numpy as np

from replica.format.batch import CONTROL_ATTRIBUTE
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.health.log_content import TYPE_BYTE, UNKNOWN, count_batch, type_named, type_of
from replica.scan import frames
from replica.scan.native import Longs
from replica.scan.regions import Chunk, Regions
from replica.scan.tables import program_table


def count_large(
    content: FileContent, base_offset: int | None, counts: Counter[str], sizes: Counter[str]
) -> None:
    """Count the records of one segment."""
    inflation = Inflation(content.size)
    regions = Regions(content.source(), 0, base_offset)
    for region in regions.read(program_table(keep_secrets=True)):
        if not isinstance(region, Chunk):
            if region.crc_valid:
                count_batch(content, region, inflation, counts, sizes)
            continue
        rows = region.rows[:, : region.row_count]
        attributes = region.batches[frames.BATCH_ATTRIBUTES, rows[frames.ROW_BATCH]]
        is_control = (attributes & CONTROL_ATTRIBUTE) != 0
        for row in np.flatnonzero(is_control).tolist():
            name = type_of(region.record(row), is_control=True)
            counts[name] += 1
            sizes[name] += max(int(rows[frames.ROW_VALUE_SIZE, row]), 0)
        _count_values(region, rows[:, ~is_control], counts, sizes)


def _count_values(chunk: Chunk, rows: Longs, counts: Counter[str], sizes: Counter[str]) -> None:
    """Count the metadata records of a chunk. rows: theirs."""
    long_enough = rows[frames.ROW_VALUE_SIZE] > TYPE_BYTE
    plain, short = rows[:, long_enough], rows[frames.ROW_VALUE_SIZE, ~long_enough]
    keys = chunk.array[plain[frames.ROW_VALUE] + TYPE_BYTE]
    found = np.bincount(keys, minlength=1)
    held = np.bincount(keys, weights=plain[frames.ROW_VALUE_SIZE])
    for key in np.flatnonzero(found).tolist():
        counts[type_named(key)] += int(found[key])
        sizes[type_named(key)] += int(held[key])
    if short.size:
        counts[UNKNOWN] += short.size
        sizes[UNKNOWN] += int(np.maximum(short, 0).sum())
