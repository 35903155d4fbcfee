"""Finds the batches of a large file that may hold a secret. The CRC that is shown for them is a
redacted one.

The CRC depends only on the batch's bytes, not on a key. With the CRC and everything else that is
shown of the batch, anybody could check guesses of the secret. The same is true for the right CRC of
a damaged batch.
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
from replica.scan.compiled import find_odd_rows
from replica.scan.native import Longs
from replica.scan.regions import Chunk, Region, Regions
from replica.scan.tables import CONFIG_PROGRAM, KERNEL_PROGRAMS, MAX_WIDTH, program_table


class ShownRegions(Regions):
    """The regions of a file, with the CRCs that may be shown for its batches.

    data: the bytes, of which the first is byte `start` of the file: a buffer, or an open file (see
    replica.format.byte_source for what may change meanwhile). expected_offset: the base offset that
    the first batch must have; None for any. redactor: redacts secrets; None to show all secrets,
    and all CRCs as they are.
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
        self._last: LocatedBatch | None = None

    def shown(self, *, with_records: bool) -> Iterator[Region]:
        """The regions, as Regions.read gives them. with_records: whether chunks have the rows that
        RecordScan needs."""
        if self._redactor is not None:
            yield from self._keyed(self._redactor)
            return
        program_of = program_table(keep_secrets=True) if with_records else None
        for region in self.read(program_of):
            self._last = region if isinstance(region, LocatedBatch) else None
            yield region

    def last_bytes(self) -> memoryview:
        """The bytes of the last batch with a right CRC; see Regions.bytes_of."""
        assert self._last is not None, "the last region was a chunk"
        return self.bytes_of(self._last)

    def _keyed(self, redactor: Redactor) -> Iterator[Region]:
        secret = _SecretRows()
        inflation = Inflation(self.size)
        for region in self.read(program_table(keep_secrets=False)):
            if isinstance(region, Chunk):
                _key(region, secret.batches_of(region), redactor)
                yield region
                continue
            self._last = region
            header = region.header
            if _is_secret(region, self, inflation):
                crc = redactor.batch_crc(header.base_offset, header.crc)
                header = header._replace(crc=crc)
            yield region._replace(header=header)


def secret_positions(data: Source, *, expected_offset: int | None) -> Iterator[int]:
    """The position (byte) of each batch of a file that may hold a secret, in ascending order."""
    secret = _SecretRows()
    regions = Regions(data, 0, expected_offset)
    inflation = Inflation(regions.size)
    for region in regions.read(program_table(keep_secrets=False)):
        if isinstance(region, Chunk):
            positions = region.batches[frames.BATCH_POSITION] + region.start
            yield from positions[secret.batches_of(region)].tolist()
        elif _is_secret(region, regions, inflation):
            yield region.position


class _SecretRows:
    """Finds batches that may hold a secret, in chunks read with
    program_table(keep_secrets=False)."""

    def __init__(self) -> None:
        self._sought: Longs = np.zeros(len(KERNEL_PROGRAMS), np.int64)
        self._odd: Longs = np.empty(frames.ROWS, np.int64)
        self._places: Longs = np.zeros(MAX_WIDTH, np.int64)

    def batches_of(self, chunk: Chunk) -> list[int]:
        """The numbers of the chunk's batches that may hold a secret, in ascending order."""
        count = find_odd_rows(
            chunk.array, chunk.rows.reshape(-1), chunk.row_count, CONFIG_PROGRAM,
            self._sought, self._odd, self._places,
        )  # fmt: skip
        found: list[int] = []
        for row in self._odd[:count].tolist():
            batch = int(chunk.rows[frames.ROW_BATCH, row])
            if found and found[-1] == batch:
                continue
            if not is_harmless(chunk.record(row), is_control=chunk.is_control(row)):
                found.append(batch)
        return found


def _key(chunk: Chunk, numbers: list[int], redactor: Redactor) -> None:
    """Replaces the CRCs of some of the chunk's batches by those that may be shown. numbers: the
    places of these batches in the chunk."""
    for number in numbers:
        base_offset = int(chunk.batches[frames.BATCH_BASE_OFFSET, number])
        crc = int(chunk.batches[frames.BATCH_CRC, number])
        chunk.batches[frames.BATCH_CRC, number] = redactor.batch_crc(base_offset, crc)


def _is_secret(batch: LocatedBatch, regions: Regions, inflation: Inflation) -> bool:
    """Whether the last batch of `regions` may hold a secret. inflation: of its file."""
    if not batch.crc_valid:
        return True
    return may_hold_secret(batch.header, regions.bytes_of(batch), inflation)
