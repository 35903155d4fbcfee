"""The `kraftlake` command as processes of their own, with the interpreter that runs the tests.

In `make test` most of them are forked from a process that has already imported the command's
modules (tests.forked): a third of a second of processor time for each start adds up to more than a
minute. Elsewhere, as in CI's second run of the engine's tests, in benchmarks and in the soak, each
is started anew.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from tests.examples import PROFILE
from tests.forked import Forked, Wanted, completed

REPOSITORY = Path(__file__).parents[1]
WITHIN_S = 150.0
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
Process = subprocess.Popen[bytes] | Forked
_READ_AT_THE_START = ("PYTHON", "LC_", "LANG", "LD_", "OPENLINEAGE_")
"""Beginnings of the names of variables that are read when Python or a module starts, and so not by
a forked command."""


def command_line(*arguments: object) -> list[str]:
    """The words that start the command, from REPOSITORY."""
    return [sys.executable, "-m", "jobs.cli", *map(str, arguments)]


def kraftlake(
    *arguments: object,
    text: str = "",
    variables: Mapping[str, str] = NO_VARIABLES,
    within_s: float = WITHIN_S,
) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end. text: its standard input. variables: variables of its
    environment, besides ours."""
    if may_fork(variables):
        return completed(wanted(arguments, variables), text, within_s)
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
    output: Path,
    *arguments: object,
    variables: Mapping[str, str] = NO_VARIABLES,
    open_files: tuple[int, int] | None = None,
) -> Process:
    """Starts the command and leaves it running. Its output is appended to `output`. open_files: the
    number of files that it may open at first, and at most (`ulimit -Sn`, `ulimit -Hn`)."""
    if may_fork(variables):
        with output.open("ab") as out:
            asked = wanted(arguments, variables)
            if open_files is not None:
                asked = replace(asked, limits=((resource.RLIMIT_NOFILE, *open_files),))
            return Forked(asked, stdin=0, stdout=out.fileno(), stderr=out.fileno())
    words = command_line(*arguments)
    if open_files is not None:
        first, most = open_files
        limited = f'ulimit -n {most}; ulimit -Sn {first}; exec "$@"'
        words = ["sh", "-c", limited, "sh", *words]
    return logged(output, words, variables)


def logged(
    output: Path, words: list[str], variables: Mapping[str, str] = NO_VARIABLES
) -> subprocess.Popen[bytes]:
    """Starts any process, as `started` does."""
    with output.open("ab") as out:
        return subprocess.Popen(
            words,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=REPOSITORY,
            env={**os.environ, **variables},
        )


def may_fork(variables: Mapping[str, str] = NO_VARIABLES) -> bool:
    """Whether a command with these variables in its environment is forked, not started anew."""
    return (
        PROFILE == "quick"
        and sys.platform == "linux"
        and _read_at_the_start({**os.environ, **variables}) == _OURS
    )


def _read_at_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if name.startswith(_READ_AT_THE_START)
    }


_OURS = _read_at_the_start(os.environ)


def wanted(arguments: tuple[object, ...], variables: Mapping[str, str] = NO_VARIABLES) -> Wanted:
    """A command with these arguments, as tests.forked takes it."""
    return Wanted(
        arguments=tuple(map(str, arguments)),
        folder=str(REPOSITORY),
        variables={**os.environ, **variables},
    )


@contextmanager
def followed(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """The command, whose output is read while it runs. It is killed at the end."""
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
