"""The bytes of a scanned log file, read batch by batch, so that few bytes are in memory.

A running node may have changed the file since the scan: it truncates a log, and deletes segments
and snapshots. The CRC shows whether a batch is still the same batch.
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
    """Bytes that were checked are no longer there, because the file was changed."""


class FileContent:
    """The content of a file. has_changed: whether a batch was no longer found at its position."""

    def __init__(self, data: Source) -> None:
        self._source = byte_source(data)
        self.has_changed = False

    @property
    def size(self) -> int:
        """The size of the file in bytes when it was opened, or less if a read has found an earlier
        end."""
        return self._source.size

    def source(self, begin: int = 0) -> InMemory | OpenFile:
        """The bytes from `begin` on, for callers that read all of them."""
        return self._source.part(begin) if begin else self._source

    def read(self, position: int, size: int) -> bytes:
        """`size` bytes from `position` on; fewer at the end of the file."""
        try:
            return bytes(self._source.read(position, max(0, min(size, self.size - position))))
        except ShrankError:
            self.has_changed = True
            return b""

    def holds(self, batch: LocatedBatch) -> bool:
        """Whether the whole batch is still at its position, with the CRC of its header."""
        header = batch.header
        try:
            whole = self._source.read(batch.position, header.size_bytes)
        except ShrankError:
            return False
        return computed_crc(whole) == header.crc

    def batch(self, batch: LocatedBatch) -> memoryview:
        """The result of batch_bytes. Sets `has_changed` if the batch is no longer there."""
        whole = batch_bytes(self._source, batch.position, batch.header)
        self.has_changed = self.has_changed or not whole
        return whole

    def records(self, batch: LocatedBatch, inflation: Inflation) -> Iterator[Record]:
        """The records of a batch; none if the batch is no longer there. Raises the errors of
        records_of."""
        whole = self.batch(batch)
        return records_of(batch.header, whole, inflation) if whole else iter(())

    def whole_records(self, batch: LocatedBatch, inflation: Inflation) -> Iterator[Record]:
        """The records of a batch before the first record that can't be decoded. inflation: the
        limit of the file."""
        try:
            yield from self.records(batch, inflation)
        except DataError:  # the rule undecodable-record reports it
            return

    def equals(self, other: FileContent) -> bool:
        """Whether both files hold the same bytes."""
        if self.size != other.size:
            return False
        places = range(0, self.size, BLOCK_BYTES)
        return all(self.read(at, BLOCK_BYTES) == other.read(at, BLOCK_BYTES) for at in places)


def batch_bytes(source: ByteSource, position: int, header: BatchHeader) -> memoryview:
    """The bytes of a batch whose CRC was valid in the scan; empty if the file has changed since.
    For a batch with more than MAX_RECORDS_BYTES of records, which records_of doesn't read, it is
    only the header."""
    is_readable = header.size_bytes - HEADER.size <= MAX_RECORDS_BYTES
    try:
        whole = memoryview(source.read(position, header.size_bytes if is_readable else HEADER.size))
    except ShrankError:
        return memoryview(b"")
    if isinstance(source, InMemory) or not is_readable or computed_crc(whole) == header.crc:
        return whole
    return memoryview(b"")
