"""Batches of a log or of a snapshot for a state machine that is far behind: another thread reads
them while the log goes on."""

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
    """The reader has to stop, because its caller asked for that."""


@dataclass(slots=True)
class FileBatches:
    """The batches of files that are open already (StoredBatches), so that a removed file disturbs
    no reader. Iteration raises StoppedReadError after `stop`."""

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
        """End an iteration at its next batch. Any thread may call it."""
        self._is_stopped = True

    def close(self) -> None:
        """Close the files. After that, no thread may read them."""
        for file in self.files:
            if isinstance(file.source, OpenFile):
                file.source.close()


@dataclass(frozen=True, slots=True)
class _Readable:
    """A source as `walk` reads it."""

    path: str
    source: InMemory | OpenFile

    def size(self) -> int:
        return self.source.size

    def read(self, position: int, size: int) -> bytes:
        try:
            return bytes(self.source.read(position, max(0, min(size, self.source.size - position))))
        except ShrankError:
            return b""
