"""Runs the tests as two processes side by side: those of the replica, which start servers and wait
for them, and all others, which wait for Spark's JVM. Each takes about as long as the other one.

    python -m tests.side_by_side "not slow"

The output of the other tests is shown as it comes. The output of the replica's tests is shown
when both processes have ended.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

REPLICA = ("tests/replica", "tests/interop")
"""Folders without a test that needs Spark."""


def main(wanted: str, replica: Sequence[str] = REPLICA) -> int:
    """wanted: a mark expression, as for pytest -m. 0 where both have ended so, else the exit code
    of one that has not."""
    others = [f"--ignore={folder}" for folder in replica]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(_pytest(wanted, replica), stdout=said, stderr=said) as beside,
    ):
        first = subprocess.run(_pytest(wanted, others), check=False).returncode
        second = beside.wait()
        said.seek(0)
        shutil.copyfileobj(said, sys.stdout.buffer)
        sys.stdout.flush()
    return first or second


def _pytest(wanted: str, where: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", "-m", wanted, *where]


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:  # which both have heard of too
        sys.exit(130)
