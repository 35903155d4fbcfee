"""A flush of the log in another thread."""

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

    size: the number of bytes of the log file that the flush syncs.
    entries: the number of bytes of each index that belong to the synced batches.
    sync: a function that syncs, in any thread; None if everything is synced already.
    """

    size: int
    entries: Mapping[FileKind, int]
    sync: Callable[[], None] | None


@dataclass(slots=True, eq=False)
class BegunFlush:
    """A flush that FileLog.begin_flush has begun.

    end_offset: the log is durable up to this offset (exclusive) once `run` has returned.
    epochs: the leader epochs of the log up to that offset.
    segment: the flush of the active segment.
    """

    end_offset: int
    epochs: Epochs
    segment: SegmentFlush
    _lock: Lock = field(default_factory=Lock)
    _is_done: bool = False
    _failure: FileSystemError | None = None

    def run(self) -> None:
        """Sync, or wait until the sync is done. Several threads may call this method, but only the
        first call syncs: after a failed sync, a second sync may succeed although bytes are lost.
        After a failure each call raises UnwritableFileError."""
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
