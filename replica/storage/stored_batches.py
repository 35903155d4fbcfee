"""Batches of a log or of a snapshot for a state machine that is far behind: another thread reads
them while the log grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replica.errors import KraftlakeError
from replica.format.byte_source import InMemory, OpenFile, ShrankError
from replica.format.stored_batches import BatchFile
from replica.model.batch import Batch
from replica.storage.batch_walk import walk
from replica.storage.batches import batch_in


class StoppedReadError(KraftlakeError):
    """An iteration has stopped, because FileBatches.stop was called."""


@dataclass(slots=True)
class FileBatches:
    """The batches of open files (StoredBatches), which stay readable after the files are removed.
    Iteration raises StoppedReadError after `stop`, and DataError for damaged bytes."""

    files: tuple[BatchFile, ...]
    _is_stopped: bool = False

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    def __iter__(self) -> Iterator[Batch]:
        for file in self.files:
            walked = walk(
                _Readable(file.path, file.source),
                expected_offset=file.base_offset,
                position=file.begin,
            )
            for frame, data in walked:
                if self._is_stopped:
                    raise StoppedReadError("the reader was told to stop")
                yield batch_in(data, frame, frame.position)

    def stop(self) -> None:
        """End an iteration at its next batch. Any thread may call this method."""
        self._is_stopped = True

    def close(self) -> None:
        """Close the files. No thread may read them afterwards."""
        for file in self.files:
            if isinstance(file.source, OpenFile):
                file.source.close()


@dataclass(frozen=True, slots=True)
class _Readable:
    """A source with the interface that `walk` needs (ReadableFile)."""

    path: str
    source: InMemory | OpenFile

    def size(self) -> int:
        return self.source.size

    def read(self, position: int, size: int) -> bytes:
        try:
            return bytes(self.source.read(position, max(0, min(size, self.source.size - position))))
        except ShrankError:
            return b""
