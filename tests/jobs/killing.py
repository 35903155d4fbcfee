"""Commands as processes that are killed, started twice, or run where no file may grow."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from deltalake import DeltaTable

from tests.descendants import descendants
from tests.kraftlake_process import REPOSITORY, command_line, started

WITHIN_S = 400
"""The most seconds of a command, even if it starts Spark on a busy machine."""


def killed_after(ms: int, said: Path, *call: str) -> None:
    process = started(said, *call)
    time.sleep(ms / 1000)
    process.kill()
    process.wait()


def killed_when(said: Path, is_time: str | Callable[[], bool], *call: str) -> None:
    """Kills a command with all its processes as soon as it prints this text, the function gives
    true, or it has ended."""
    process = started(said, *call)
    deadline = time.monotonic() + WITHIN_S

    def is_there() -> bool:
        return is_time in said.read_text() if isinstance(is_time, str) else is_time()

    while not is_there() and process.poll() is None:
        assert time.monotonic() < deadline, said.read_text()
        time.sleep(0.01)
    below = descendants(process.pid) if process.poll() is None else []
    process.kill()
    process.wait()
    for pid in below:
        with_kill(pid)


def with_kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, 9)


def at_once(tmp_path: Path, *call: str) -> list[tuple[int, str]]:
    """The exit codes and outputs of two commands that start together."""
    both = [(started(tmp_path / f"said-{n}", *call), tmp_path / f"said-{n}") for n in range(2)]
    try:
        return [(process.wait(WITHIN_S), said.read_text()) for process, said in both]
    finally:
        for process, _ in both:
            process.kill()


def content(place: Path) -> dict[str, bytes]:
    """The content of a file, or of all files of a folder."""
    files = [place] if place.is_file() else [one for one in place.rglob("*") if one.is_file()]
    return {str(file.relative_to(place)): file.read_bytes() for file in files}


def rows(lake: Path, layer: str = "*") -> dict[str, int]:
    """The number of rows of each table, without the tables of results, which grow."""
    tables = sorted(log.parent for log in lake.glob(f"{layer}/*/_delta_log"))
    counts = {str(one): DeltaTable(one).to_pyarrow_dataset().count_rows() for one in tables}
    return {name: n for name, n in counts.items() if not name.endswith("quality_results")}


def bounded(size: int, *call: str) -> subprocess.CompletedProcess[str]:
    """Runs the command where no file can grow beyond `size` bytes, as on a full disk. Python keeps
    no compiled files: it doesn't notice that one is cut off, and later processes would read it."""
    return subprocess.run(
        command_line(*call),
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


def last_line(said: str) -> str:
    assert "Traceback" not in said
    assert "internal error" not in said
    return said.splitlines()[-1]
