"""The steps of the bulk reader in this process. Each work reads the whole segment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from replica.format.byte_source import Source
from replica.format.reading import MAX_LOG_BYTES, open_file
from replica.format.segment import scan
from replica.scan.arrow import RecordScan
from replica.scan.lines import LineScan
from replica.scan.regions import WINDOW_BYTES, Chunk, Regions
from replica.scan.tables import program_table

SCALAR_SHARE = 20
"""The scalar reader gets this fraction of the segment, because it is slow, and its time is
multiplied."""
_PREFIX = b'{"file":"00000000000000000000.log","offset":'

Work = Callable[[], object]


def works(segment: Path, data: bytes) -> dict[str, Work]:
    """The works by name. data: the segment in memory."""
    return {
        "read": lambda: read(segment),
        "CRC + walk, in memory": lambda: walk(data),
        "read + CRC + walk": lambda: from_file(segment, walk),
        "read + CRC + walk + JSON lines into a buffer": lambda: from_file(segment, lines),
        "read + CRC + walk + VARIANT and value into Arrow": lambda: from_file(
            segment, variant_into_arrow
        ),
    }


def from_file(segment: Path, work: Callable[[Source], int]) -> int:
    """Runs the work on an open file."""
    with open_file(str(segment), MAX_LOG_BYTES) as file:
        return work(file)


def read(segment: Path) -> int:
    """Reads every byte once into a buffer of the bulk reader's size."""
    buffer = memoryview(bytearray(WINDOW_BYTES))
    handle = os.open(segment, os.O_RDONLY)
    try:
        size = 0
        while got := os.readv(handle, [buffer]):
            size += got
        return size
    finally:
        os.close(handle)


def walk(data: Source) -> int:
    """Finds batch headers, checks CRCs, and finds the places of all records. Gives the number of
    records."""
    regions = Regions(data, 0, 0).read(program_table(keep_secrets=True))
    return sum(region.row_count for region in regions if isinstance(region, Chunk))


def lines(data: Source, first_offset: int = 0) -> int:
    """Writes the lines of `dump --json` into one buffer. Gives their number of bytes."""
    found = LineScan(data, prefix=_PREFIX, expected_offset=first_offset, keep_secrets=True)
    return sum(len(piece) for piece in found if isinstance(piece, memoryview))


def variant_into_arrow(data: Source) -> int:
    """Makes record batches as Spark gets them, with VARIANT and the raw value. Gives their number
    of rows."""
    return sum(t.num_rows for t in RecordScan(data, expected_offset=0))


def scalar_walk(data: bytes) -> int:
    """Reads headers and CRCs in plain Python, on the first part of the segment."""
    return len(scan(data[: len(data) // SCALAR_SHARE]).batches)
