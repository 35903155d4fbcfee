"""Runs the tests as two processes side by side, those that need Spark and the others: the first
wait much of their time for a JVM, the others use one core.

    python -m tests.side_by_side "not slow"

The output of those with Spark is shown as it comes, that of the others when both have ended.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile


def main(wanted: str) -> int:
    """wanted: a mark expression, as for pytest -m. 0 where both have ended so, else the exit code
    of one that has not."""
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(_pytest(wanted, "not spark"), stdout=said, stderr=said) as others,
    ):
        with_spark = subprocess.run(_pytest(wanted, "spark"), check=False).returncode
        without = others.wait()
        said.seek(0)
        shutil.copyfileobj(said, sys.stdout.buffer)
        sys.stdout.flush()
    return with_spark or without


def _pytest(wanted: str, half: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-m", f"({wanted}) and {half}"]


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:  # which both have heard of too
        sys.exit(130)
