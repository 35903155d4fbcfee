"""One writer at a time: a lock on a file of the lake, which the system frees with the process.

In an object store, claims are in its stead: pipelines.lake_claims."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from pipelines.lake_claims import claimed
from pipelines.lake_paths import is_remote, local_path
from replica.errors import UnwritableFileError

FILE_NAME = "_ingest.lock"
"""Delta tables never start with an underscore."""


@contextmanager
def locked(lake: str, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lake's lock; `waiting` is told where another process has it.

    It is known to this machine, and to others where the file system hands locks on (NFS 4 does).
    UnwritableFileError where the lake's folder can't be made or written to.
    """
    if is_remote(lake):
        with claimed(lake, waiting):
            yield
        return
    path = Path(local_path(lake), FILE_NAME)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError as error:
        raise UnwritableFileError(str(path), error.strerror or str(error)) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def locked_in_store(lake: str, waiting: Callable[[], None]) -> AbstractContextManager[None]:
    """As `locked` in an object store, where two drivers' commits to a table would overwrite each
    other; nothing on a file system, where Delta refuses the second."""
    return claimed(lake, waiting) if is_remote(lake) else nullcontext()
