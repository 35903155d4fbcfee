"""Keeps files open that the storage closes when the process has no free file descriptor.

A replica that can't open quorum-state has to stop. So votes and batches must reach the disk even
when clients' connections take all file descriptors of the process.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from typing import TypeVar

COUNT = 16
"""The number of spare files. The storage opens fewer files at once: three files for a new segment;
one file and its folder for quorum-state or a snapshot."""

T = TypeVar("T")


class SpareFiles:
    """The spare files. The files are opened as soon as the operating system allows it, and again
    after each use."""

    def __init__(self, count: int = COUNT) -> None:
        self._count = count
        self._kept: list[int] = []
        self._fill()

    def open_with(self, opening: Callable[[], T]) -> T:
        """The file that `opening` opens. If the process has no free file descriptor, a spare file
        is closed first. Raises OSError if `opening` fails all the same."""
        try:
            opened = opening()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._kept:
                raise
            os.close(self._kept.pop())
            return opening()
        self._fill()
        return opened

    def close(self) -> None:
        """Close the spare files."""
        self._count = 0
        while self._kept:
            os.close(self._kept.pop())

    def __del__(self) -> None:
        self.close()

    def _fill(self) -> None:
        with contextlib.suppress(OSError):
            while len(self._kept) < self._count:
                self._kept.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
