"""The commands of a soak as processes, and their output."""

from __future__ import annotations

import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tests.kraftlake_process import started
from tests.soak.memory import held

ENDED_S = 3600.0
_STOP_S = 600.0
_BAD = re.compile(r"\b(ERROR|FATAL)\b|Traceback|internal error|kraftlake: error")
_WARNING = re.compile(r"\bWARN(ING)?\b")


@dataclass(frozen=True)
class Place:
    """The folders of a soak. said: for the output of commands. conf: for their settings
    (KRAFTLAKE_CONF)."""

    said: Path
    conf: Path


class Command:
    """`kraftlake` with these arguments, running in the background. Its output goes to
    said/name.txt.

    exit_code: None while it runs.
    """

    def __init__(self, name: str, place: Place, *arguments: object) -> None:
        self.name = name
        self.output = place.said / f"{name}.txt"
        variables = {"KRAFTLAKE_CONF": str(place.conf)}
        self._process = started(self.output, *arguments, variables=variables)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    @property
    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def wait_for(self, text: str) -> None:
        """Waits until the command has printed `text`. Raises AssertionError where it ended before,
        or took too long."""
        deadline = time.monotonic() + ENDED_S
        while text not in self.said:
            assert self.exit_code is None, f"{self.name} ended before {text!r}:\n{self.said}"
            assert time.monotonic() < deadline, f"{self.name} never said {text!r}:\n{self.said}"
            time.sleep(0.5)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends the command, and gives its exit code. Raises TimeoutExpired where it doesn't end."""
        self._process.send_signal(how)
        return self._process.wait(_STOP_S)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@dataclass(frozen=True)
class Ran:
    """A command that ran to its end. highest: the most resident bytes seen, by kind (see held)."""

    name: str
    exit_code: int
    seconds: float
    highest: dict[str, int]


def run(name: str, place: Place, *arguments: object) -> Ran:
    """Runs a command to its end, and kills it where it takes too long."""
    began = time.monotonic()
    command = Command(name, place, *arguments)
    highest: dict[str, int] = {}
    try:
        while command.exit_code is None and time.monotonic() - began < ENDED_S:
            for kind, size in held(command.pid).items():
                highest[kind] = max(size, highest.get(kind, 0))
            time.sleep(0.5)
    finally:
        command.kill()
    code = command.exit_code
    assert code is not None
    return Ran(name, code, time.monotonic() - began, highest)


def bad_lines(said: Path) -> list[str]:
    """`name: line` for each line about an error in the output of any command."""
    return _lines(said, _BAD)


def warnings(said: Path) -> list[str]:
    """`name: line` for each warning."""
    return _lines(said, _WARNING)


def _lines(said: Path, wanted: re.Pattern[str]) -> list[str]:
    return [
        f"{path.stem}: {line.strip()}"
        for path in sorted(said.glob("*.txt"))
        for line in path.read_text(errors="replace").splitlines()
        if wanted.search(line)
    ]
