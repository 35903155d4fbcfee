"""Running `kraftlake`: in this process for most tests, as a real process where that matters."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.main import app
from jobs.cli.outcome import run
from tests.jobs.printed_json import breach
from tests.kraftlake_process import kraftlake as run_process


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def complaints(self) -> list[str]:
        return self.err.splitlines()

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings that `check --json` printed."""
        *rows, last = self.rows
        assert last["kind"] == "summary"
        assert {row["kind"] for row in rows} <= {
            "verdict", "finding", "start", "election", "formatted",
        }  # fmt: skip
        return [row for row in rows if row["kind"] == "finding"]

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        """The verdicts that `check --json` printed."""
        return [row for row in self.rows if row["kind"] == "verdict"]

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The lines of a command's --json after the verdict, which comes first."""
        first, *rows = self.rows
        assert first["kind"] == "verdict"
        return [row for row in rows if row["kind"] != "verdict"]

    @property
    def answer_lines(self) -> list[str]:
        """The lines after the verdict, which comes first, and the empty line after it."""
        return self.lines[self.lines.index("") + 1 :]

    @property
    def summary(self) -> dict[str, Any]:
        """The summary of `check --json`."""
        return dict(self.rows[-1]["summary"])

    def held_to(self, arguments: Sequence[str | Path]) -> Ended:
        """Asserts that the output of --json fits the command's schema. Gives the object itself."""
        words = [str(argument) for argument in arguments]
        if "--json" in words and self.code >= 0:
            assert breach(words, self.out) == ""
        return self

    @property
    def error(self) -> str:
        """The only line on stderr of a refused command. Asserts that there is no other output."""
        assert self.out == ""
        assert len(self.complaints) == 1, self.err
        prefix = "kraftlake: error: "
        assert self.complaints[0].startswith(prefix)
        return self.complaints[0].removeprefix(prefix)


Kraftlake = Callable[..., Ended]


@pytest.fixture
def kraftlake(capsys: pytest.CaptureFixture[str]) -> Kraftlake:
    """The command in this process."""

    def call(*arguments: str | Path) -> Ended:
        capsys.readouterr()
        code = run(app, [str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err).held_to(arguments)

    return call


@pytest.fixture
def process() -> Kraftlake:
    """The command as a process of its own."""

    def call(*arguments: str | Path, stdin: str = "", **variables: str) -> Ended:
        done = run_process(*arguments, text=stdin, variables=variables)
        return Ended(done.returncode, done.stdout, done.stderr).held_to(arguments)

    return call


@pytest.fixture
def recorded(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recorded logs as the working directory, so that output has short file names."""
    monkeypatch.chdir(data)
    return data
