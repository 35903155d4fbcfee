"""A flush of the log that another thread does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock

from replica.errors import FileSystemError
from replica.format.file_names import FileKind
from replica.model.epochs import Epochs


@dataclass(frozen=True, slots=True)
class SegmentFlush:
    """A flush of the active segment that has begun.

    size: the bytes of the log file that are then synced.
    entries: how many bytes of each index these batches have.
    sync: syncs them, in any thread; None where they are synced already.
    """

    size: int
    entries: Mapping[FileKind, int]
    sync: Callable[[], None] | None


@dataclass(slots=True, eq=False)
class BegunFlush:
    """A flush that FileLog.begin_flush has begun.

    end_offset: the log is durable up to this offset (exclusive) once `run` has returned.
    epochs: the leader epochs of the log up to that offset.
    segment: what has to be synced.
    """

    end_offset: int
    epochs: Epochs
    segment: SegmentFlush
    _lock: Lock = field(default_factory=Lock)
    _is_done: bool = False
    _failure: FileSystemError | None = None

    def run(self) -> None:
        """Return once the sync is done. Any threads may call it, and the first one syncs: a second
        sync could succeed after a first one has failed, and yet the bytes would be lost. Raises
        UnwritableFileError in each of these calls."""
        with self._lock:
            if not self._is_done:
                self._is_done = True
                try:
                    if self.segment.sync is not None:
                        self.segment.sync()
                except FileSystemError as error:
                    self._failure = error
        if self._failure is not None:
            raise self._failure
