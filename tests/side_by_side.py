"""Runs the tests as processes side by side, four at once, so that two cores are busy from the
beginning to the end: first those in the one Spark session of their process, those of the replica,
which start servers and wait for them, and most others; then, wherever one of these has ended, the
tests that keep a core busy by themselves.

    python -m tests.side_by_side "not slow"

The output of the tests with Spark is shown as it comes, that of each other process when it ends.
The last line tells the time that all of them took.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple


def _in_parts(folder: str, count: int) -> list[tuple[str, ...]]:
    """The files of a folder's tests in so many parts, neighbours apart from each other."""
    files = tuple(map(str, sorted(Path(folder).glob("test_*.py"))))
    return [files[first::count] for first in range(count)]


AT_ONCE = 4
REPLICA = ("tests/replica", "tests/interop")
"""Folders without a test that needs Spark."""
LATER = (
    ("tests/pipelines", "tests/replica/simulate"),
    *_in_parts("tests/jobs", 3),
    (
        "tests/replica/scan",
        "tests/replica/format",
        "tests/replica/metadata",
        "tests/replica/doctor/check",
    ),
)
"""Each entry is one process: it runs the tests without Spark in these folders or files, and starts
once an earlier process has ended. The tests of tests/jobs take longest. They run in three
processes, and the last entry is a short one, so that both cores are busy to the end."""
SHARED = "KRAFTLAKE_TESTS_SHARED"
"""The variable that names the folder of what one of the processes makes for all of them."""
_LOOK_EVERY_S = 0.1
_MARK = b"mark.spark"


class Started(NamedTuple):
    """A process that runs tests. said: its output; None where the output is shown as it comes."""

    process: subprocess.Popen[bytes]
    said: BinaryIO | None


def main(
    wanted: str,
    replica: Sequence[str] = REPLICA,
    later: Sequence[Sequence[str]] = LATER,
    tests: str = "tests",
) -> int:
    """Runs the tests that pytest's mark expression `wanted` selects.

    replica: the folders of the tests that need no Spark session. later: folders as LATER. tests:
    the folder of all tests. Returns 0 where all processes have succeeded, else the exit code of one
    that has failed.
    """
    began = time.monotonic()
    waiting = deque(_commands(wanted, replica, later, tests))
    running: list[Started] = []
    codes = []
    with ExitStack() as stack:
        shared = stack.enter_context(tempfile.TemporaryDirectory(prefix="kraftlake-tests-"))
        environment = _environment() | {SHARED: shared}
        running.append(_start(stack, waiting.popleft(), environment, is_shown=True))
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(_start(stack, waiting.popleft(), environment, is_shown=False))
            time.sleep(_LOOK_EVERY_S)
            for one in [each for each in running if each.process.poll() is not None]:
                running.remove(one)
                codes.append(one.process.returncode)
                _show(one)
    sys.stdout.write(_summary(codes, time.monotonic() - began))
    sys.stdout.flush()
    return next(filter(None, codes), 0)


def _summary(codes: Sequence[int], seconds: float) -> str:
    failed = sum(map(bool, codes))
    ended = f"{failed} of {len(codes)} failed" if failed else "all passed"
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        f"{len(codes)} processes of tests: {ended} in {seconds // 60:.0f}:{seconds % 60:02.0f} "
        f"minutes, with {used.ru_utime + used.ru_stime:.0f} s of processor time\n"
    )


def _commands(
    wanted: str, replica: Sequence[str], later: Sequence[Sequence[str]], tests: str
) -> Iterator[list[str]]:
    """The command of each process, in the order in which they begin. The first one runs the tests
    with Spark."""
    after = [folder for folders in later for folder in folders]
    yield _pytest(f"({wanted}) and spark", _with_spark(tests), replica)
    yield _pytest(wanted, replica, after)
    yield _pytest(f"({wanted}) and not spark", (), (*replica, *after))
    for folders in later:
        yield _pytest(f"({wanted}) and not spark", folders, ())


def _with_spark(tests: str) -> list[str]:
    """The files that mark a test as one with Spark, because it takes 9 s of processor time to
    collect 4,000 tests for 250 of them. The folder itself where there is no such file."""
    files = (path for path in sorted(Path(tests).rglob("test_*.py")) if _MARK in path.read_bytes())
    return [str(path) for path in files] or [tests]


def _pytest(wanted: str, where: Sequence[str], ignored: Sequence[str]) -> list[str]:
    left_out = [f"--ignore={folder}" for folder in ignored]
    return [sys.executable, "-m", "pytest", "-m", wanted, *left_out, *where]


def _start(
    stack: ExitStack, command: list[str], environment: dict[str, str], *, is_shown: bool
) -> Started:
    # the stack closes it
    said = None if is_shown else stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    process = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
    return Started(stack.enter_context(process), said)


def _show(one: Started) -> None:
    if one.said is not None:
        one.said.seek(0)
        shutil.copyfileobj(one.said, sys.stdout.buffer)
        sys.stdout.flush()


def _environment() -> dict[str, str]:
    """This process's environment, but Python keeps its compiled files, because hundreds of tests
    start a process that imports the same modules."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:  # all of them have got the signal, too
        sys.exit(130)
