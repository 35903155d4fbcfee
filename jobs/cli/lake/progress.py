"""The lines of `ingest` and `build` on stderr while they work: a line before each step.

On a terminal, one more line below these shows the time that has passed, the share of the work that
is done, and the step. The last line says how long the command took, and which command to run next.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from jobs.cli.output import ProgressLine, complain

_EVERY_S = 0.25


class CommandProgress:
    """Shows the progress of a command on stderr. `line` and `share` may be called
    from any thread."""

    def __init__(self, command: str, *, is_shown: bool, has_lines: bool = True) -> None:
        """is_shown: whether a terminal also shows the line with the time and the share of the work.
        has_lines: whether a line is printed before each step; False where the work is a part of
        another command."""
        self._command = command
        self._has_lines = has_lines
        self._is_shown = is_shown and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._progress = ProgressLine(output_waits=True)
        self._share: float | None = None
        self._step = ""
        self._lock = threading.Lock()

    def line(self, text: str) -> None:
        """Prints which step begins, or what was found."""
        with self._lock:
            if self._has_lines:
                complain(text)
            self._step = text.removeprefix(f"{self._command}: ")

    def share(self, share: float) -> None:
        """Stores the share of the work that is done, from 0 to 1."""
        self._share = share

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Shows the line with the time and the share while the work continues, and removes it at
        the end, also after an error."""
        stop = threading.Event()
        thread = threading.Thread(target=self._show_until, args=(stop,), daemon=True)
        if self._is_shown:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            if self._is_shown:
                thread.join()
            self._progress.clear()

    def end(self, following: str) -> None:
        """Prints how long the command took, and `following`, the command that comes next; nothing
        where the line with the time isn't shown."""
        if self._is_shown:
            complain(f"{self._command}: done in {self._elapsed()}; next: {following}")

    def _show_until(self, stop: threading.Event) -> None:
        while not stop.wait(_EVERY_S):
            with self._lock:
                percent = "" if self._share is None else f"{self._share:4.0%}  "
                self._progress.show(f"{self._command}: {self._elapsed()}  {percent}{self._step}")

    def _elapsed(self) -> str:
        """The time since the command began, in minutes and seconds, such as 1:05."""
        minutes, seconds = divmod(round(time.monotonic() - self._begin), 60)
        return f"{minutes}:{seconds:02}"


@dataclass
class DecodedBytes:
    """The number of bytes of logs that an ingest has decoded."""

    progress: CommandProgress
    sizes: Sequence[int]
    """The new bytes of each pass; a part of them may have been decoded in an earlier pass."""
    passes: int = 0
    """The number of passes that are done."""
    now: int = 0
    """The decoded bytes of the present pass."""

    def more(self, size: int) -> None:
        """Counts `size` more bytes as decoded, and passes the share of all bytes on to
        `progress`."""
        self.now += size
        behind = sum(self.sizes[: self.passes]) + self.now
        self.progress.share(min(1.0, behind / max(1, sum(self.sizes))))

    def end_pass(self) -> None:
        """Counts all bytes of the pass as done, whether or not they had to be decoded."""
        self.passes, self.now = self.passes + 1, 0
        self.more(0)
