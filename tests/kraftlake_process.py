"""The `kraftlake` command as processes of their own, with the interpreter that runs the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

REPOSITORY = Path(__file__).parents[1]
WITHIN_S = 150.0
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


def command_line(*arguments: object) -> list[str]:
    """The words that start it, from REPOSITORY."""
    return [sys.executable, "-m", "jobs.cli", *map(str, arguments)]


def kraftlake(
    *arguments: object,
    text: str = "",
    variables: Mapping[str, str] = NO_VARIABLES,
    within_s: float = WITHIN_S,
) -> subprocess.CompletedProcess[str]:
    """Run to its end. text: its standard input. variables: of its environment, besides ours."""
    return subprocess.run(
        command_line(*arguments),
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=within_s,
        cwd=REPOSITORY,
        env={**os.environ, **variables},
    )


def started(
    output: Path, *arguments: object, variables: Mapping[str, str] = NO_VARIABLES
) -> subprocess.Popen[bytes]:
    """Left to go on, until whoever started it ends it; what it says goes to the end of `output`."""
    return logged(output, command_line(*arguments), variables)


def logged(
    output: Path, words: list[str], variables: Mapping[str, str] = NO_VARIABLES
) -> subprocess.Popen[bytes]:
    """Any process beside it, as `started`."""
    with output.open("ab") as out:
        return subprocess.Popen(
            words,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=REPOSITORY,
            env={**os.environ, **variables},
        )


@contextmanager
def followed(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Its output is read while it runs; killed in the end."""
    process = subprocess.Popen(
        command_line(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
