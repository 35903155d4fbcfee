"""Refuses data files whose footer is longer than the file, as they can only be in a stranger's
lake or on a broken disk: delta-rs panics where it reads one."""

from __future__ import annotations

import os
from collections.abc import Iterable

from pipelines.object_store import is_uri
from replica.errors import UnreadableFileError

_MAGIC = b"PAR1"
_END = 4 + len(_MAGIC)
"""The bytes behind a footer: its length, then the magic."""


def refuse_lying_footers(files: Iterable[str]) -> None:
    """Raises UnreadableFileError for a Parquet file whose footer says that it is longer than the
    file.

    files: local paths, and URIs, which are passed over because each look would be a request. So is
    what is missing or no Parquet file: readers say that better.
    """
    for file in files:
        if is_uri(file):
            continue
        length = _footer_length(file)
        if length is not None:
            raise UnreadableFileError(
                file, f"its Parquet footer claims {length} bytes, more than the file has"
            )


def _footer_length(file: str) -> int | None:
    """The length of a footer that doesn't fit into its file; None where it fits, or there is
    none."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        size = os.fstat(opened).st_size
        end = os.pread(opened, _END, max(size - _END, 0))
    except OSError:  # a folder
        return None
    finally:
        os.close(opened)
    length = int.from_bytes(end[:4], "little")
    fits = length + _END <= size
    return None if fits or not end.endswith(_MAGIC) else length
