"""The bytes of a log file that was scanned, batch by batch: most of a large file is not in memory.

A running node may change a file between two looks at it: it cuts off what another leader replaces,
and deletes what a snapshot holds. A batch is told from another one in its place by its CRC.
"""

from __future__ import annotations

from collections.abc import Iterator

from replica.errors import DataError
from replica.format.batch import HEADER, BatchHeader, computed_crc
from replica.format.byte_source import (
    BLOCK_BYTES,
    ByteSource,
    InMemory,
    OpenFile,
    ShrankError,
    Source,
    byte_source,
)
from replica.format.compression import MAX_RECORDS_BYTES, Inflation
from replica.format.record import Record, records_of
from replica.format.walk import LocatedBatch


class MovedError(Exception):
    """Bytes that were checked are not there any more: somebody changed the file meanwhile."""


class Content:
    """has_changed: whether a batch was not found again where it was."""

    def __init__(self, data: Source) -> None:
        self._source = byte_source(data)
        self.has_changed = False

    @property
    def size(self) -> int:
        """Bytes of the file as it was opened, less where it was seen to end before."""
        return self._source.size

    def source(self, begin: int = 0) -> InMemory | OpenFile:
        """The bytes from `begin` on, for who reads all of them."""
        return self._source.part(begin) if begin else self._source

    def read(self, position: int, size: int) -> bytes:
        """Bytes of the file, fewer than `size` where it ends."""
        try:
            return bytes(self._source.read(position, max(0, min(size, self.size - position))))
        except ShrankError:
            self.has_changed = True
            return b""

    def holds(self, batch: LocatedBatch) -> bool:
        """Whether the whole batch, with the CRC that its header tells, lies in its place."""
        header = batch.header
        try:
            whole = self._source.read(batch.position, header.size_bytes)
        except ShrankError:
            return False
        return computed_crc(whole) == header.crc

    def batch(self, batch: LocatedBatch) -> memoryview:
        """See batch_bytes."""
        whole = batch_bytes(self._source, batch.position, batch.header)
        self.has_changed = self.has_changed or not whole
        return whole

    def records(self, batch: LocatedBatch, inflation: Inflation) -> Iterator[Record]:
        """The records of a batch; none where it isn't there any more. DataError as records_of."""
        whole = self.batch(batch)
        return records_of(batch.header, whole, inflation) if whole else iter(())

    def whole_records(self, batch: LocatedBatch, inflation: Inflation) -> Iterator[Record]:
        """The same, up to the first that doesn't decode; inflation: of the file."""
        try:
            yield from self.records(batch, inflation)
        except DataError:  # the rule undecodable-record names it
            return

    def equals(self, other: Content) -> bool:
        """Whether both files hold the same bytes."""
        if self.size != other.size:
            return False
        places = range(0, self.size, BLOCK_BYTES)
        return all(self.read(at, BLOCK_BYTES) == other.read(at, BLOCK_BYTES) for at in places)


def batch_bytes(source: ByteSource, position: int, header: BatchHeader) -> memoryview:
    """A batch whose CRC was right: nothing where the file was changed since, and the header alone
    where the records are more than records_of reads."""
    is_readable = header.size_bytes - HEADER.size <= MAX_RECORDS_BYTES
    try:
        whole = memoryview(source.read(position, header.size_bytes if is_readable else HEADER.size))
    except ShrankError:
        return memoryview(b"")
    if isinstance(source, InMemory) or not is_readable or computed_crc(whole) == header.crc:
        return whole
    return memoryview(b"")
