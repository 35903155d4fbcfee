"""Open files that are kept for storage, for the moment when no other can be opened.

However many connections there are, a vote and a batch must reach the disk: a replica that can't
open quorum-state has to stop.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from typing import TypeVar

COUNT = 16
"""More than storage opens at a time: a new segment has three files, quorum-state and snapshots have
one, with their folder."""

T = TypeVar("T")


class SpareFiles:
    """Taken at once where the system allows, and again after each use."""

    def __init__(self, count: int = COUNT) -> None:
        self._count = count
        self._kept: list[int] = []
        self._fill()

    def open_with(self, opening: Callable[[], T]) -> T:
        """What `opening` opens; with a spare file given away where no other is left. Raises
        OSError."""
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
        """Keep none any more."""
        self._count = 0
        while self._kept:
            os.close(self._kept.pop())

    def __del__(self) -> None:
        self.close()

    def _fill(self) -> None:
        with contextlib.suppress(OSError):
            while len(self._kept) < self._count:
                self._kept.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
