"""Memory has a bound for commands that answer what others ask."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import command_line

LARGE = (
    "SELECT max(m) FROM (SELECT value % 90000000 AS v, max(value::varchar || repeat('x', 90)) AS m "
    "FROM generate_series(1, 90000000) AS s(value) GROUP BY 1)"
)
"""A query that would take some GB."""
_PEAK = (
    "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode; "
    "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)"
)
"""Prints a command's exit code, and the most MiB that it or a process of its own took."""


@pytest.mark.parametrize("engine", ["delta-rs", "duckdb"])
def test_a_query_has_a_bound_of_memory(built_lake: Path, engine: str) -> None:
    words = command_line("sql", "--lake", built_lake, "--engine", engine, "--memory", "300m", LARGE)
    began = time.monotonic()
    measured = [sys.executable, "-c", _PEAK, *words]
    done = subprocess.run(measured, capture_output=True, text=True, check=False, timeout=120)
    code, peak = map(int, done.stdout.split())
    assert code == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("kraftlake: error: ")
    assert "memory" in done.stderr.lower()
    assert time.monotonic() - began < 90
    assert peak < 1024, f"{peak} MiB"


def test_what_is_killed_from_outside_leaves_no_query_behind(built_lake: Path) -> None:
    endless = "SELECT count(*) FROM generate_series(1, 9000000000000) AS s(value) WHERE value < 0"
    words = command_line("sql", "--lake", built_lake, endless)
    asked = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    listed = Path(f"/proc/{asked.pid}/task/{asked.pid}/children")
    try:
        begun = time.monotonic() + 60
        while not (children := listed.read_text().split()):
            assert time.monotonic() < begun
            time.sleep(0.05)
        time.sleep(1)  # It is at work.
    finally:
        asked.kill()
        asked.wait()
    assert len(children) == 1
    gone = time.monotonic() + 10
    while Path(f"/proc/{children[0]}").exists() and time.monotonic() < gone:
        time.sleep(0.05)
    assert not Path(f"/proc/{children[0]}").exists()


@pytest.mark.parametrize("text", ["0", "4", "4x", "-1g", "10m", "99999999999g", ""])
def test_a_bound_that_is_none_is_refused(kraftlake: Kraftlake, built_lake: Path, text: str) -> None:
    ended = kraftlake("sql", "--lake", built_lake, f"--memory={text}", "SELECT 1")
    assert ended.code == 2
    assert "--memory" in ended.error


def test_the_bound_of_the_environment_holds_for_any_command(built_lake: Path) -> None:
    code = "import sys; from jobs.cli import main; bytearray(10 << 20); main.main(sys.argv[1:])"
    words = [sys.executable, "-c", code, "lake", "--lake", str(built_lake)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={"KRAFTLAKE_MEMORY": "1k"}
    )
    assert done.returncode == 2
    assert "KRAFTLAKE_MEMORY 1k" in done.stderr
