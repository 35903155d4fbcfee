"""Refuses data files whose footer claims to be longer than the file, because delta-rs panics when
it reads one. Only a hostile lake or a broken disk has such files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from pipelines.object_store import is_uri, opened
from replica.errors import UnreadableFileError

_MAGIC = b"PAR1"
_END = 4 + len(_MAGIC)
"""The bytes after a footer: its length, then the magic."""
_AT_ONCE = 16
"""How many files of an object store are asked for at once."""

DataFile = tuple[str, int | None]
"""The path of a file below its table's folder, and its size in bytes as the table's log has it.
delta-rs expects the footer's end at that size. None stands for the size of the file itself.
"""


def refuse_lying_footers(folder: str, files: Iterable[DataFile]) -> None:
    """Raises UnreadableFileError for a Parquet file whose footer claims more bytes than the file
    has, and where an object store refuses.

    folder: the table's folder, as a local path or a URI. A file that is missing, or is no Parquet
    file, is skipped: its reader raises a better error. Each process checks the files of a table
    once, because Delta never writes to a file again.
    """
    _refuse_lying(folder, frozenset(files))


@lru_cache(maxsize=64)
def _refuse_lying(folder: str, files: frozenset[DataFile]) -> None:
    if not is_uri(folder):
        for path, size in files:
            _refuse(f"{folder}/{path}", _local_end(f"{folder}/{path}", size))
        return
    with opened(folder) as (store, root), ThreadPoolExecutor(_AT_ONCE) as pool:
        ends = pool.map(lambda file: _end_in_store(store, f"{root}/{file[0]}", file[1]), files)
        for (path, _), end in zip(files, ends, strict=True):
            _refuse(f"{folder}/{path}", end)


def _refuse(file: str, end: tuple[int, bytes] | None) -> None:
    """Raises UnreadableFileError for a footer that is longer than the file. end: the file's size,
    and its last bytes; None where they can't be read."""
    size, last = end or (0, b"")
    length = int.from_bytes(last[:4], "little")
    if last.endswith(_MAGIC) and length + _END > size:
        raise UnreadableFileError(
            file, f"its Parquet footer claims {length} bytes, more than the file has"
        )


def _local_end(file: str, size: int | None) -> tuple[int, bytes] | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size if size is None else size
        return size, os.pread(descriptor, _END, max(size - _END, 0))
    except (OSError, OverflowError):  # a folder, or a size that no file has
        return None
    finally:
        os.close(descriptor)


def _end_in_store(store: Any, key: str, size: int | None) -> tuple[int, bytes] | None:
    """The size of a file in the store, and its last bytes; None for a file that isn't there. Raises
    OSError where the store refuses."""
    try:
        with store.open_input_file(key) as file:
            held = file.size()
            size = held if size is None else size
            return size, file.read_at(_END, size - _END) if _END <= size <= held else b""
    except FileNotFoundError:
        return None
