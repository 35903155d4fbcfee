"""What a driver does while Spark ingests a fleet: `python -m tests.bench.shared --write`.

A replica of each cluster (tests/bench/fleet.py) goes into a new lake twice: by copies in the spool,
and read in its place (`--shared`); then each log has grown by a tenth. Each ingest is a process of
its own, which measures itself, its JVM and its Python workers by /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.bench.fleet import write_fleet
from tests.bench.memory import resident
from tests.bench.processes import cpu_seconds, timed
from tests.bench.sampling import sampled
from tests.bench.sections import with_section
from tests.descendants import descendants

PAGE = Path(__file__).with_name("SCALE.md")
GROWTH = 0.1
_INTERVAL_S = 0.2
_REPOSITORY = Path(__file__).parents[2]
tell = partial(print, file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Ingest:
    """The cost of an ingest: seconds by the clock; CPU seconds of the driver's Python, of the
    Python workers and of the JVM; and the driver's peak of resident bytes."""

    seconds: float
    driver_s: float
    workers_s: float
    jvm_s: float
    peak_bytes: int


@contextmanager
def _measured(found: dict[int, tuple[str, float]]) -> Iterator[None]:
    """Collects the CPU seconds of each process below this one, as they were when last sampled."""

    def capture() -> None:
        for pid in descendants(os.getpid()):
            with suppress(OSError):  # the process has ended
                found[pid] = resident(pid)[1], cpu_seconds(pid)

    with sampled(capture, _INTERVAL_S):
        yield


def run(arguments: Sequence[str]) -> Ingest:
    """Runs `kraftlake ingest` in this process, by Spark."""
    from jobs.cli.main import app
    from jobs.cli.outcome import run as run_command

    processes: dict[int, tuple[str, float]] = {}
    codes: list[int] = []
    before = resource.getrusage(resource.RUSAGE_SELF)
    with _measured(processes):
        words = ["ingest", "--engine", "spark", *arguments]
        seconds = timed(lambda: codes.append(run_command(app, words)))
    assert codes == [0], codes
    used = resource.getrusage(resource.RUSAGE_SELF)
    jvm = sum(cpu for name, cpu in processes.values() if name == "java")
    workers = sum(cpu for name, cpu in processes.values() if name != "java")
    driver = used.ru_utime - before.ru_utime + used.ru_stime - before.ru_stime
    return Ingest(seconds, driver, workers, jvm, used.ru_maxrss * 1024)


def in_own_process(arguments: Sequence[object]) -> Ingest:
    """Runs `run` in a process of its own."""
    command = [sys.executable, "-P", "-m", "tests.bench.shared", "--one", *map(str, arguments)]
    variables = {**os.environ, "PYTHONPATH": str(_REPOSITORY)}
    ended = subprocess.run(
        command, cwd=_REPOSITORY, env=variables, stdout=subprocess.PIPE, text=True, check=True
    )
    return Ingest(**json.loads(ended.stdout.splitlines()[-1]))


def measure(folder: Path, clusters: int, size: int) -> Iterator[tuple[str, Ingest]]:
    """Each work with its name, in new lakes below the folder."""
    fleets = {
        "a new lake": write_fleet(folder / "fleet", clusters, size),
        "a tenth more": write_fleet(folder / "grown", clusters, int(size * (1 + GROWTH))),
    }
    for way, options in (("spool", ()), ("--shared", ("--shared",))):
        for hour, (what, nodes) in enumerate(fleets.items(), start=1):
            at = f"2026-11-21T{hour:02d}:00Z"
            place = nodes[0].parent
            lake = folder / f"lake {way}"
            found = in_own_process(["--lake", lake, "--captured-at", at, *options, place])
            tell(f"{way}, {what}: {found}")
            yield f"{way}, {what}", found


def section(clusters: int, size: int, found: Sequence[tuple[str, Ingest]]) -> str:
    """The section in Markdown."""
    lines = [
        "## A driver beside its executors",
        "",
        f"`python -m tests.bench.shared --write`: {clusters} clusters, a replica of each with a "
        f"log of {size / 1e6:g} MB, ingested by Spark on {os.cpu_count()} cores. CPU seconds, the "
        "start of Spark included; the driver's share is of its Python and of all Python workers.",
        "",
        "| ingest | s | driver's Python | Python workers | JVM | driver's share | driver's peak |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in found:
        share = one.driver_s / (one.driver_s + one.workers_s)
        lines.append(
            f"| {name} | {one.seconds:.1f} | {one.driver_s:.1f} | {one.workers_s:.1f} "
            f"| {one.jvm_s:.1f} | {share:.0%} | {one.peak_bytes / 1e6:.0f} MB |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--size", type=int, default=500_000, help="bytes of each log")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--one", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one is not None:
        from dataclasses import asdict

        sys.stdout.write(f"\n{json.dumps(asdict(run(asked.one)))}\n")
        return
    with tempfile.TemporaryDirectory(prefix="kraftlake-bench-") as folder:
        found = list(measure(Path(folder), asked.clusters, asked.size))
    text = section(asked.clusters, asked.size, found)
    sys.stdout.write(text)
    if asked.write:
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
