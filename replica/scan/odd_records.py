"""Which records of a large file need a look by the scalar reader; all others are sound."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from replica.format.byte_source import Source
from replica.format.segment import LocatedBatch


def odd_records(
    data: Source, *, expected_offset: int | None = None, types: Collection[str] = ()
) -> Iterator[int]:
    """Rising offsets of records, in batches with a right CRC, that don't decode, are of an unknown
    type or version, or of one of `types`. Now and then another one is among them: control records,
    values of a megabyte, the first record of a batch that the kernels leave alone.
    """
    from replica.scan.lines import LineScan, ScalarRecord

    found = LineScan(
        data,
        prefix=b"",
        expected_offset=expected_offset,
        keep_secrets=True,
        takes_type=lambda record_type: record_type in types,
    )
    for piece in found:
        if isinstance(piece, ScalarRecord):
            yield piece.record.offset
        elif isinstance(piece, LocatedBatch):
            yield piece.header.base_offset
        else:  # lines begin with the offset
            yield from (int(line.split(b",", 1)[0]) for line in bytes(piece).splitlines())
