"""Finds the records of a large file that the scalar reader must look at. All other records are
sound."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from replica.format.byte_source import Source


def odd_records(
    data: Source,
    *,
    start: int = 0,
    expected_offset: int | None = None,
    types: Collection[str] = (),
) -> Iterator[int]:
    """The rising offsets of records, in batches with a right CRC, that don't decode, have an
    unknown type or version, or have one of the `types`.

    A few sound records may be among them: control records, and the first record of a batch that the
    kernels refuse. data: the bytes, of which the first is byte `start` of the file.
    """
    import numpy as np

    from replica.scan import frames
    from replica.scan.compiled import find_odd_rows
    from replica.scan.regions import Chunk, Regions
    from replica.scan.tables import KERNEL_PROGRAMS, MAX_WIDTH, NO_PROGRAM, program_table

    sought = np.array([program.schema.name in types for program in KERNEL_PROGRAMS], np.int64)
    odd, places = np.empty(frames.ROWS, np.int64), np.empty(MAX_WIDTH, np.int64)
    for region in Regions(data, start, expected_offset).read(program_table(keep_secrets=True)):
        if isinstance(region, Chunk):
            rows = region.rows.reshape(-1)
            count = find_odd_rows(
                region.array, rows, region.row_count, NO_PROGRAM, sought, odd, places
            )  # fmt: skip
            yield from region.rows[frames.ROW_OFFSET, odd[:count]].tolist()
        elif region.crc_valid:
            yield region.header.base_offset
