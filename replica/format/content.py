"""The bytes of a log file that was scanned, read batch by batch, so that little is in memory.

A running node may have changed the file since the scan: it truncates a log, and deletes segments
and snapshots. The CRC tells a batch from another batch that now lies in the same place.
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
    """Bytes that were checked are not there any more, because the file was changed meanwhile."""


class FileContent:
    """The content of a file. has_changed: whether a batch was not found again in its place."""

    def __init__(self, data: Source) -> None:
        self._source = byte_source(data)
        self.has_changed = False

    @property
    def size(self) -> int:
        """Bytes of the file when it was opened, or fewer once a read has found an earlier end."""
        return self._source.size

    def source(self, begin: int = 0) -> InMemory | OpenFile:
        """The bytes from `begin` on, for callers that read all of them."""
        return self._source.part(begin) if begin else self._source

    def read(self, position: int, size: int) -> bytes:
        """`size` bytes from `position` on, fewer where the file ends."""
        try:
            return bytes(self._source.read(position, max(0, min(size, self.size - position))))
        except ShrankError:
            self.has_changed = True
            return b""

    def holds(self, batch: LocatedBatch) -> bool:
        """Whether the whole batch still lies in its place, with the CRC of its header."""
        header = batch.header
        try:
            whole = self._source.read(batch.position, header.size_bytes)
        except ShrankError:
            return False
        return computed_crc(whole) == header.crc

    def batch(self, batch: LocatedBatch) -> memoryview:
        """The result of batch_bytes. This method notes where the batch isn't there any more."""
        whole = batch_bytes(self._source, batch.position, batch.header)
        self.has_changed = self.has_changed or not whole
        return whole

    def records(self, batch: LocatedBatch, inflation: Inflation) -> Iterator[Record]:
        """The records of a batch; none where the batch isn't there any more. Raises what records_of
        raises."""
        whole = self.batch(batch)
        return records_of(batch.header, whole, inflation) if whole else iter(())

    def whole_records(self, batch: LocatedBatch, inflation: Inflation) -> Iterator[Record]:
        """The records of a batch up to the first that doesn't decode. inflation: the file's."""
        try:
            yield from self.records(batch, inflation)
        except DataError:  # The rule undecodable-record reports it.
            return

    def equals(self, other: FileContent) -> bool:
        """Whether both files hold the same bytes."""
        if self.size != other.size:
            return False
        places = range(0, self.size, BLOCK_BYTES)
        return all(self.read(at, BLOCK_BYTES) == other.read(at, BLOCK_BYTES) for at in places)


def batch_bytes(source: ByteSource, position: int, header: BatchHeader) -> memoryview:
    """The bytes of a batch whose CRC was right when it was scanned. The result is empty where the
    file has changed since. It is the header alone where the batch has more than MAX_RECORDS_BYTES
    of records, which records_of doesn't read."""
    is_readable = header.size_bytes - HEADER.size <= MAX_RECORDS_BYTES
    try:
        whole = memoryview(source.read(position, header.size_bytes if is_readable else HEADER.size))
    except ShrankError:
        return memoryview(b"")
    if isinstance(source, InMemory) or not is_readable or computed_crc(whole) == header.crc:
        return whole
    return memoryview(b"")
