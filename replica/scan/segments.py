"""Reads whole segments and snapshots by the bulk reader, with the results of the scalar reader.

replica.format.directory takes either reader as its `scan`, and doesn't know the kernels. Kernels
are loaded at the first large file; Arrow is never loaded.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Collection, Iterator
from importlib.util import find_spec

from replica.format.batch import HEADER, BatchHeader
from replica.format.byte_source import Source, byte_source
from replica.format.segment import AnyWalk, BatchWalk, SegmentScan, collected
from replica.format.walk import LocatedBatch

MIN_BYTES = 8 * 1024 * 1024
"""The smallest file (bytes) for which the kernels are loaded. For a smaller file, loading them
takes longer than the scalar reader."""
MIN_BYTES_LOADED = 32 * 1024
"""The smallest file (bytes) for which loaded kernels are used. For a smaller file, their buffers
cost more time than the kernels save."""
_KERNELS = "replica.scan.compiled"


def scan(
    data: Source,
    *,
    start: int = 0,
    expected_offset: int | None = None,
    most_batches: int | None = None,
    compact: bool = False,
) -> SegmentScan:
    """The result of replica.format.segment.scan, by the reader that is faster for a source of this
    size. compact: whether to return the batches of a large source as columns of numbers
    (replica.scan.compact). Raises TooManyBatchesError if there are more batches than
    `most_batches`."""
    source = byte_source(data)
    if not (compact and is_large(source.size)):
        return collected(walk(source, start=start, expected_offset=expected_offset), most_batches)
    from replica.scan.compact import compacted
    from replica.scan.regions import Regions

    regions = Regions(source, start, expected_offset)
    batches = compacted(regions.read(None), most_batches)
    return SegmentScan(batches, regions.damages, regions.end_position, regions.zero_tail)


def scan_ends(data: Source, *, start: int = 0, expected_offset: int | None = None) -> SegmentScan:
    """The result of `scan`, but with only the first and the last batch, so that the other batches
    take no memory. This function is for callers that need only the damages and the log's ends."""
    found = walk(data, start=start, expected_offset=expected_offset)
    batches = iter(found)
    first = next(batches, None)
    last = deque(batches, maxlen=1)
    ends = () if first is None else (first, *last)
    return SegmentScan(ends, found.damages, found.end_position, found.zero_tail)


def walk(data: Source, *, start: int = 0, expected_offset: int | None = None) -> AnyWalk:
    """A walk with the results of segment.BatchWalk, by the reader that is faster for a source of
    this size."""
    source = byte_source(data)
    chosen = bulk_walk if is_large(source.size) else BatchWalk
    return chosen(source, start=start, expected_offset=expected_offset)


def is_large(size_bytes: int) -> bool:
    """Whether the bulk reader is installed, and is faster for a file of this size. While its
    kernels aren't compiled, the bulk reader isn't faster, unless the file is so large that this
    function compiles the kernels now."""
    least = MIN_BYTES_LOADED if _KERNELS in sys.modules else MIN_BYTES
    if size_bytes < least or find_spec("numba") is None:
        return False
    from replica.scan.readiness import expect  # it loads LLVM

    return expect(size_bytes)


def bulk_walk(data: Source, *, start: int = 0, expected_offset: int | None = None) -> AnyWalk:
    """A walk with the results of segment.BatchWalk, by the kernels, which check the headers."""
    from replica.scan.frames import BATCH_POSITION
    from replica.scan.regions import Chunk, Regions

    class BulkWalk(Regions, AnyWalk):
        def __iter__(self) -> Iterator[LocatedBatch]:
            new_header, unpack = BatchHeader._make, HEADER.unpack_from
            for region in self.read(None):
                if not isinstance(region, Chunk):
                    yield region
                    continue
                array, begin = region.array.data, region.start
                for position in region.batches[BATCH_POSITION, : region.batch_count].tolist():
                    header = new_header(unpack(array, position))
                    yield LocatedBatch(begin + position, header, True)

    return BulkWalk(data, start, expected_offset)


def odd_records(
    data: Source,
    *,
    start: int = 0,
    expected_offset: int | None = None,
    types: Collection[str] = (),
) -> Iterator[int]:
    """The rising offsets of records, in batches with a valid CRC, that can't be decoded, have an
    unknown type or version, or have one of the `types`.

    A few other records may be among them: control records, and the first record of a batch that the
    kernels refuse. data: the bytes from byte `start` of the file on.
    """
    import numpy as np

    from replica.scan import frames
    from replica.scan.regions import Chunk, Regions
    from replica.scan.tables import KERNEL_PROGRAMS, NO_PROGRAM, program_table

    sought = np.array([program.schema.name in types for program in KERNEL_PROGRAMS], np.int64)
    for region in Regions(data, start, expected_offset).read(program_table(keep_secrets=True)):
        if isinstance(region, Chunk):
            odd = region.odd_rows(NO_PROGRAM, sought)
            yield from region.rows[frames.ROW_OFFSET, odd].tolist()
        elif region.crc_valid:
            yield region.header.base_offset
