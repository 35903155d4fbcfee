"""Streaming readers of kraft_log and kraft_snapshot. A stream's offset has the position up to which
each file was read.

A log is read up to its last whole batch. A batch that a running node is still writing waits for the
next micro-batch. The reader keeps no state: only the stream's checkpoint has its position.

A file with another content than before (truncated and rewritten, or replaced) is read again from
its first byte: the rows of its old records stay, and its new records are added. Deleted files are
left out.
"""

from __future__ import annotations

import os
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from pipelines.capture.remote import file_name
from pipelines.object_store import is_uri
from pipelines.sources.files import SourceFile
from pipelines.sources.ranges import RangePartition, positive, read_range, size_of_file
from replica.errors import DataError, UnreadableFileError
from replica.format.batch import HEADER, BatchHeader, decode_header, encode_header
from replica.format.file_names import classify
from replica.format.reading import VanishedFileError
from replica.format.walk import LocatedBatch
from replica.scan.segments import scan

Position = list[int]
"""The position up to which one file was read: generation (how many times its content was replaced),
end (byte, exclusive), base offset of the batch that follows, and position and `_trace` of the last
batch."""
Offset = dict[str, Position]
"""Positions by path. Spark writes them into the checkpoint as JSON."""

_GENERATION, _END, _NEXT_OFFSET, _LAST, _TRACE = range(5)
_UNREAD = (0, 0, -1, 0, 0)
"""The position in a file of which nothing was read."""


class RangeReader(Protocol):
    """The part of a source's batch reader that a stream uses: the files, and the rows of a range of
    one file."""

    def source_files(self) -> list[SourceFile]: ...

    def ranges(self, files: list[SourceFile]) -> list[InputPartition]: ...

    def read(self, partition: InputPartition) -> Iterator[Any]: ...


class FileStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream over files. It takes the options maxBytesPerTrigger and maxFilesPerTrigger. Where
    both are given, both limit a micro-batch."""

    def __init__(self, options: Mapping[str, str], reader: RangeReader) -> None:
        self.reader = reader
        self.max_bytes = positive(options, "maxBytesPerTrigger")
        self.max_files = positive(options, "maxFilesPerTrigger")
        self.frozen: dict[str, int] | None = None

    def initialOffset(self) -> Offset:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        if self.max_bytes is not None:
            return ReadMaxBytes(self.max_bytes)
        return ReadAllAvailable() if self.max_files is None else ReadMaxFiles(self.max_files)

    def prepareForTriggerAvailableNow(self) -> None:
        self.frozen = self._sizes()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        sizes = self._sizes() if self.frozen is None else self.frozen
        is_limited = not isinstance(limit, ReadAllAvailable)
        bytes_left = self.max_bytes if is_limited else None
        files_left = self.max_files if is_limited else None
        end: Offset = {}
        for path, size in sizes.items():
            begin = end[path] = self._begin(path, start.get(path), size)
            if begin[_END] >= size or (bytes_left is not None and bytes_left <= 0):
                continue
            if files_left is not None and files_left <= 0:
                continue
            try:
                found = self.advance(path, begin, size, bytes_left)
            except VanishedFileError:  # deleted below a snapshot's end
                found = None
            if found is None:
                continue
            end[path] = found
            files_left = None if files_left is None else files_left - 1
            bytes_left = None if bytes_left is None else bytes_left - (found[_END] - begin[_END])
        return end

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        files = []
        known = {file.path: file for file in self.reader.source_files()}
        for path, position in end.items():
            begin = start.get(path)
            if begin is None or begin[_GENERATION] != position[_GENERATION]:
                begin = [*_UNREAD]
            if position[_END] > begin[_END]:
                file = known.get(path, SourceFile(path, path))
                start_at, following, until = begin[_END], begin[_NEXT_OFFSET], position[_END]
                files.append(replace(file, start=start_at, next_offset=following, end=until))
        return self.reader.ranges(files)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if isinstance(partition, RangePartition):
            yield from self.reader.read(partition)

    def commit(self, end: Offset) -> None:
        """Does nothing, because the reader keeps no state."""

    @abstractmethod
    def advance(
        self, path: str, begin: Position, size: int, max_bytes: int | None
    ) -> Position | None:
        """The position up to which a micro-batch reads: at least one batch, or one file, after
        `begin`. None where there is nothing more to read. size: the file's size in bytes.
        max_bytes: about how many bytes the micro-batch may read; None for no limit."""

    def _sizes(self) -> dict[str, int]:
        sizes = {}
        for file in self.reader.source_files():
            try:
                sizes[file.path] = size_of_file(file)
            except UnreadableFileError:
                if is_uri(file.path) or os.path.lexists(file.path):
                    raise
        return sizes

    def _begin(self, path: str, known: Position | None, size: int) -> Position:
        if known is None:
            return [*_UNREAD]
        if known[_END] == 0 or self._is_same(path, known, size):
            return known
        return [known[_GENERATION] + 1, *_UNREAD[1:]]

    def _is_same(self, path: str, known: Position, size: int) -> bool:
        """Whether the file still has the last batch that was read, by replica.format.known_file."""
        if size < known[_END]:
            return False
        header = read_range(path, known[_LAST], known[_LAST] + HEADER.size)
        try:
            found = decode_header(header)
            return known[_TRACE] in (_trace(found), found.crc)  # earlier releases kept the CRC
        except DataError:
            return False


class LogStreamReader(FileStreamReader):
    """Reads segments, each up to its last whole batch."""

    def advance(
        self, path: str, begin: Position, size: int, max_bytes: int | None
    ) -> Position | None:
        expected = begin[_NEXT_OFFSET] if begin[_END] else classify(file_name(path)).base_offset
        wanted = size - begin[_END] if max_bytes is None else max_bytes
        while True:
            until = min(size, begin[_END] + wanted)
            data = read_range(path, begin[_END], until)
            batches = scan(data, start=begin[_END], expected_offset=expected).batches
            if batches:
                limit = size if max_bytes is None else begin[_END] + max_bytes
                within = [batch for batch in batches if _end_of(batch) <= limit]
                last = within[-1] if within else batches[0]
                header = last.header
                end = _end_of(last)
                return [
                    begin[_GENERATION], end, header.next_offset, last.position,
                    _trace(header),
                ]  # fmt: skip
            if until == size:
                return None
            wanted *= 4


def _trace(header: BatchHeader) -> int:
    """32 bits that distinguish this batch from others. They are made only of values that every
    reader may know: by a CRC of the records, a reader could check guesses of secrets in them."""
    return zlib.crc32(encode_header(header._replace(crc=0)))


def _end_of(batch: LocatedBatch) -> int:
    return batch.position + batch.header.size_bytes


class SnapshotStreamReader(FileStreamReader):
    """Reads complete snapshots, each as a whole, once."""

    def advance(
        self, path: str, begin: Position, size: int, max_bytes: int | None
    ) -> Position | None:
        if begin[_END]:
            return None
        header = decode_header(read_range(path, 0, min(size, HEADER.size)))
        return [begin[_GENERATION], size, 0, 0, _trace(header)]
