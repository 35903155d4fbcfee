"""Runs the tests as three processes side by side, so that two cores are busy from the beginning to
the end: those of the replica, which start servers and wait for them; those in the one Spark session
of their process; and all others.

    python -m tests.side_by_side "not slow"

The output of the tests with Spark is shown as it comes, that of each other process when it ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack

REPLICA = ("tests/replica", "tests/interop")
"""Folders without a test that needs Spark."""


def main(wanted: str, replica: Sequence[str] = REPLICA) -> int:
    """Runs the tests that pytest's mark expression `wanted` selects, in three processes at once.

    replica: the folders of the tests that need no Spark session. Returns 0 where all three
    processes have succeeded, else the exit code of one that has failed.
    """
    others = [f"--ignore={folder}" for folder in replica]
    spark, *beside = (
        _pytest(f"({wanted}) and spark", others),
        _pytest(f"({wanted}) and not spark", others),
        _pytest(wanted, replica),
    )
    with ExitStack() as stack:
        started = []
        for words in beside:
            said = stack.enter_context(tempfile.TemporaryFile())
            process = subprocess.Popen(words, stdout=said, stderr=said, env=_environment())
            started.append((stack.enter_context(process), said))
        codes = [subprocess.run(spark, check=False, env=_environment()).returncode]
        for process, said in started:
            codes.append(process.wait())
            said.seek(0)
            shutil.copyfileobj(said, sys.stdout.buffer)
            sys.stdout.flush()
    return next(filter(None, codes), 0)


def _pytest(wanted: str, where: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", "-m", wanted, *where]


def _environment() -> dict[str, str]:
    """This process's environment, but that Python may keep its compiled files: hundreds of tests
    start a process that imports the same modules."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:  # which all of them have heard of too
        sys.exit(130)
