"""Lets one writer at a time change a lake, by a lock on a file of the lake. The system frees the
lock when the process ends.

An object store has claims instead: pipelines.lake.claims. The holder of the lock knows that no
ingest runs, and removes the spools of ingests that were killed.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pipelines.capture.spool import remove_left_over
from pipelines.lake import Lake
from pipelines.lake.claims import claimed
from pipelines.lake.links import refuse_links
from replica.errors import UnwritableFileError, writing

FILE_NAME = "_ingest.lock"
"""The name of the lock's file. Delta tables never start with an underscore."""
WAITS = "waits until an ingest has written all tables of bronze"


@contextmanager
def locked(lake: Lake, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds the lake's lock. waiting: is called where another process holds the lock.

    The lock works between processes of this machine, and between machines where the file system
    shares locks (NFS 4 does). Raises UnwritableFileError where the lake's folder can't be made or
    written to.
    """
    if lake.is_remote:
        with claimed(lake, waiting):
            remove_left_over(lake)
            yield
        return
    with _lock_file(lake) as file:
        _take(file, waiting)
        remove_left_over(lake)
        yield


@contextmanager
def locked_in_store(lake: Lake, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds the lock as `locked` does, but only for a lake in an object store: there commits of two
    drivers to a table would overwrite each other. On a file system Delta refuses the second commit.
    There the lock is not held; if it is free, what killed runs left over is removed first."""
    if lake.is_remote:
        with locked(lake, waiting):
            yield
        return
    with suppress(UnwritableFileError), _lock_file(lake) as file:
        if _take_if_free(file):
            remove_left_over(lake)
    yield


@contextmanager
def between_ingests(lake: Lake, progress: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock while a reader opens the tables of bronze. An ingest commits these tables one
    after the other, and records without their batches would count as broken. progress: is called
    with a line where another process holds the lock.

    For a lake in an object store the caller holds the lock (locked_in_store). No lock is held for a
    lake whose folder this user can't write to.
    """
    with ExitStack() as stack:
        if not lake.is_remote:
            with suppress(UnwritableFileError):
                file = stack.enter_context(_lock_file(lake))
                _take(file, lambda: progress(WAITS))
        yield


@contextmanager
def _lock_file(lake: Lake) -> Iterator[BinaryIO]:
    refuse_links(lake)
    path = Path(lake.folder, FILE_NAME)
    with writing(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    with file:
        yield file


def _take(file: BinaryIO, waiting: Callable[[], None]) -> None:
    """Takes the lock. waiting: is called where another process holds the lock."""
    if not _take_if_free(file):
        waiting()
        fcntl.flock(file, fcntl.LOCK_EX)


def _take_if_free(file: BinaryIO) -> bool:
    """Takes the lock if it is free. Returns whether it was free."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
