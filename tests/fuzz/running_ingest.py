"""An ingest that runs as a process, and is killed at a moment of what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from tests.descendants import descendants
from tests.kraftlake_process import REPOSITORY

WITHIN_S = 900.0
"""The most seconds of an ingest, even by Spark on a busy machine."""
_LOOK_EVERY_S = 0.003

T = TypeVar("T")


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class RunningIngest:
    """The ingest of a command line, with the environment `variables`. Its output is kept beside the
    lake."""

    def __init__(
        self, words: list[str], lake: Path, variables: Mapping[str, str] | None = None
    ) -> None:
        self._output = lake.with_name(f"{lake.name}.said")
        self._deadline = time.monotonic() + WITHIN_S
        with self._output.open("wb") as out:
            self._process = subprocess.Popen(
                words, cwd=REPOSITORY, env=variables, stdout=out, stderr=out
            )
        self.pid = self._process.pid

    @property
    def said(self) -> str:
        return self._output.read_text(errors="replace")

    @property
    def lines(self) -> list[str]:
        """Its lines of progress."""
        *whole, _ = self.said.split("\n")
        return [line for line in whole if line.startswith("ingest:")]

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def descendants(self) -> list[int]:
        return descendants(self.pid) if self.is_running else []

    def wait_for(self, look: Callable[[], T | None]) -> T | None:
        """The first result that is not None or False; None where the ingest has ended before."""
        while self.is_running:
            if found := look():
                return found
            if time.monotonic() > self._deadline:
                kill(self.pid)
            time.sleep(_LOOK_EVERY_S)
        return None

    def pause(self, seconds: float) -> None:
        """Waits these seconds, or until the ingest ends."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def wait(self) -> int:
        """The exit code. An ingest that doesn't end is killed."""
        self.wait_for(lambda: None)
        return self._process.wait()
