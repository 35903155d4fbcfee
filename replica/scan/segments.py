"""A whole segment or snapshot by the bulk reader, as the scalar reader gives it.

For replica.format.directory, which takes either as its `scan` and knows of no kernels. Nothing is
loaded before the first large file comes; Arrow never is.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from replica.format import segment
from replica.format.batch import HEADER, BatchHeader
from replica.format.segment import LocatedBatch, SegmentScan, bound_batches
from replica.message.primitives import Buffer

MIN_BYTES = 8 * 1024 * 1024
"""Below it, loading the compiled kernels takes longer than the scalar reader needs."""
MIN_BYTES_LOADED = 32 * 1024
"""The same where this process has loaded them: below it, the buffers for a file cost more."""
_KERNELS = "replica.scan.compiled"


def scan(
    data: Buffer,
    *,
    start: int = 0,
    expected_offset: int | None = None,
    most_batches: int | None = None,
) -> SegmentScan:
    """segment.scan, by the reader that is faster for a buffer of this size on this machine."""
    chosen = bulk_scan if is_large(len(data)) else segment.scan
    return chosen(data, start=start, expected_offset=expected_offset, most_batches=most_batches)


def is_large(size_bytes: int) -> bool:
    """Whether the bulk reader is installed and pays off for a file of this size."""
    least = MIN_BYTES_LOADED if _KERNELS in sys.modules else MIN_BYTES
    return size_bytes >= least and find_spec("numba") is not None


def bulk_scan(
    data: Buffer,
    *,
    start: int = 0,
    expected_offset: int | None = None,
    most_batches: int | None = None,
) -> SegmentScan:
    """segment.scan's value from a walk by the kernels, which has checked the headers it found."""
    from replica.scan.frames import BATCH_POSITION
    from replica.scan.regions import Chunk, Regions

    regions = Regions(data, start, expected_offset)
    located: list[LocatedBatch] = []
    new_header, unpack = BatchHeader._make, HEADER.unpack_from
    for region in regions.read(None):
        bound_batches(located, most_batches)
        if not isinstance(region, Chunk):
            located.append(region)
            continue
        positions = region.batches[BATCH_POSITION, : region.batch_count] + region.start
        located.extend(
            LocatedBatch(position, new_header(unpack(data, position - start)), True)
            for position in positions.tolist()
        )
    bound_batches(located, most_batches)
    return SegmentScan(tuple(located), regions.damages, regions.end_position, regions.zero_tail)
