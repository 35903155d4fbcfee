"""Finds the batches of a large file that may hold a secret. Their CRCs are redacted.

The CRC depends only on the batch's bytes, not on a key. With the CRC and the shown parts of the
batch, anybody could check guesses of the secret. The same is true for the valid CRC of a damaged
batch.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from replica.format.byte_source import Source
from replica.format.compression import Inflation
from replica.format.walk import LocatedBatch
from replica.metadata.log_record import is_harmless, may_hold_secret
from replica.metadata.redact import Redactor
from replica.scan import frames
from replica.scan.native import Longs
from replica.scan.regions import Chunk, Region, Regions
from replica.scan.tables import CONFIG_PROGRAM, KERNEL_PROGRAMS, program_table

_NONE_SOUGHT: Longs = np.zeros(len(KERNEL_PROGRAMS), np.int64)


class ShownRegions(Regions):
    """The regions of a file, with the CRCs that may be shown for its batches.

    data: the bytes from byte `start` of the file on: a buffer, or an open file, whose later changes
        replica.format.byte_source handles.
    expected_offset: the base offset that the first batch must have; None for any.
    redactor: redacts secrets; None to show all secrets and CRCs.
    """

    def __init__(
        self,
        data: Source,
        *,
        start: int = 0,
        expected_offset: int | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        super().__init__(data, start, expected_offset)
        self._redactor = redactor
        self._inflation = Inflation(self.size)
        self._last: LocatedBatch | None = None

    def shown(self, *, with_records: bool) -> Iterator[Region]:
        """The regions in the order of the file, with the CRCs that may be shown. with_records:
        whether chunks have the rows that RecordScan needs."""
        keeps_secrets = self._redactor is None
        needs_rows = with_records or not keeps_secrets
        for region in self.read(program_table(keep_secrets=keeps_secrets) if needs_rows else None):
            self._last = region if isinstance(region, LocatedBatch) else None
            yield region if self._redactor is None else self._keyed(region, self._redactor)

    def last_bytes(self) -> memoryview:
        """The bytes of the last batch with a valid CRC."""
        assert self._last is not None, "the last region was a chunk"
        return self.bytes_of(self._last)

    def _keyed(self, region: Region, redactor: Redactor) -> Region:
        """The region, with redacted CRCs of batches that may hold a secret."""
        if isinstance(region, Chunk):
            for number in _secret_batches(region):
                base_offset = int(region.batches[frames.BATCH_BASE_OFFSET, number])
                crc = int(region.batches[frames.BATCH_CRC, number])
                region.batches[frames.BATCH_CRC, number] = redactor.batch_crc(base_offset, crc)
            return region
        header = region.header
        if _is_secret(region, self, self._inflation):
            header = header._replace(crc=redactor.batch_crc(header.base_offset, header.crc))
        return region._replace(header=header)


def secret_positions(data: Source, *, expected_offset: int | None) -> Iterator[int]:
    """The position (byte) of each batch of a file that may hold a secret, in ascending order."""
    regions = Regions(data, 0, expected_offset)
    inflation = Inflation(regions.size)
    for region in regions.read(program_table(keep_secrets=False)):
        if isinstance(region, Chunk):
            positions = region.batches[frames.BATCH_POSITION] + region.start
            yield from positions[_secret_batches(region)].tolist()
        elif _is_secret(region, regions, inflation):
            yield region.position


def _secret_batches(chunk: Chunk) -> list[int]:
    """The numbers of the chunk's batches that may hold a secret, in ascending order. The chunk was
    read with program_table(keep_secrets=False)."""
    found: list[int] = []
    for row in chunk.odd_rows(CONFIG_PROGRAM, _NONE_SOUGHT).tolist():
        batch = int(chunk.rows[frames.ROW_BATCH, row])
        if found and found[-1] == batch:
            continue
        if not is_harmless(chunk.record(row), is_control=chunk.is_control(row)):
            found.append(batch)
    return found


def _is_secret(batch: LocatedBatch, regions: Regions, inflation: Inflation) -> bool:
    """Whether the last batch of `regions` may hold a secret. inflation: the limit of decompression
    for the file."""
    if not batch.crc_valid:
        return True
    return may_hold_secret(batch.header, regions.bytes_of(batch), inflation)
