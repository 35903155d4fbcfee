"""Whole processes: `kraftlake dump --json`, as a user runs it, with and without compiled code."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from replica.scan.segments import MIN_BYTES
from tests.bench.segments import write_segment
from tests.kraftlake_process import command_line

_TICKS = os.sysconf("SC_CLK_TCK")
_ROOT = Path(__file__).parents[2]
_PACKAGES = ("replica", "pipelines", "jobs")
_PEAK = (
    "import resource, subprocess, sys; "
    "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


@dataclass(frozen=True)
class Starts:
    """The seconds of dump --json on the smallest segment that uses the bulk reader.

    cold: in a tree where nothing was compiled. warm: a second run.
    """

    size: int
    cold: float
    warm: float


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process, user and system, since it began."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a process: seconds by the clock, and CPU seconds, user and system."""

    seconds: float
    cpu_seconds: float


def process(command: list[str], tree: Path = _ROOT, cache: str | None = None) -> float:
    """The seconds of a whole process; see `cost`."""
    return cost(command, tree, cache).seconds


def cost(
    command: list[str], tree: Path = _ROOT, cache: str | None = None, *, most: int = 0
) -> Cost:
    """The cost of a whole process, whose output is discarded.

    tree: the tree that the process imports. cache: its XDG_CACHE_HOME; None for the user's. most:
    the highest exit code that is no failure.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(
        command,
        check=False,
        cwd=tree,
        env=_environment(tree, cache),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - began
    if done.returncode > most:
        done.check_returncode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Cost(seconds, cpu)


def _environment(tree: Path, cache: str | None) -> dict[str, str]:
    """This process's environment, but Python keeps bytecode and buffers output, as it does by
    default."""
    unwanted = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    kept["PYTHONPATH"] = str(tree)
    return kept if cache is None else {**kept, "XDG_CACHE_HOME": cache}


def dump_command(segment: Path) -> list[str]:
    return command_line("dump", "--json", "--keep-secrets", segment)


def check_command(segment: Path, *options: str) -> list[str]:
    """The command line of check. Its exit code is 1 where it finds something."""
    return command_line("check", *options, segment)


def starts() -> Starts:
    """The first start and the next start of `dump --json`. They run in a copy of the code, so that
    the compiled kernels of this tree stay."""
    with tempfile.TemporaryDirectory(prefix="kraftlake-bench-") as folder:
        tree = Path(folder, "tree")
        for package in _PACKAGES:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(_ROOT / package, tree / package, ignore=ignored)
        segment = Path(folder) / f"{0:020d}.log"
        write_segment(segment, MIN_BYTES)
        command = dump_command(segment)
        cold, warm, again = (process(command, tree, str(tree)) for _ in range(3))
    return Starts(MIN_BYTES, cold, min(warm, again))


def peak_memory(size: int) -> int:
    """The peak resident bytes of dump --json on a segment of this size."""
    with tempfile.TemporaryDirectory(prefix="kraftlake-bench-") as folder:
        segment = Path(folder) / f"{0:020d}.log"
        write_segment(segment, size)
        ran = subprocess.run(
            [sys.executable, "-c", _PEAK, *dump_command(segment)],
            check=True,
            cwd=_ROOT,
            env=_environment(_ROOT, None),
            capture_output=True,
            text=True,
        )
    return int(ran.stdout) * 1024
