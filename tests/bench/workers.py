"""One worker of Spark against two: `python -m tests.bench.workers --write`.

A standalone cluster of workers with one core and 1 GB each (tests/cluster) ingests and builds a
fleet and one log (tests/bench/fleet.py). An application that gets one core does each, and then, in
a new lake, one that gets two. The Python of the driver and of the workers is measured by /proc.
Master, workers and driver share the cores of this machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.bench.fleet import write_fleet, write_node
from tests.bench.memory import resident
from tests.bench.processes import cpu_seconds
from tests.bench.sampling import sampled
from tests.bench.sections import with_section
from tests.cluster.standalone import Cluster
from tests.cluster.submission import make_workplace, submitted
from tests.descendants import descendants

PAGE = Path(__file__).with_name("SCALE.md")
AT = "2026-11-21T01:00Z"
_SUBMIT = """\
export PYSPARK_PYTHON="$PYTHON"
submit() {
    spark-submit --master "$MASTER" --conf spark.log.level=WARN --conf spark.cores.max="$CORES" \\
        --py-files dist/kraftlake-jobs.zip "$@"
}
"""
_JOBS = {
    "ingest": 'submit jobs/ingest.py --lake "$LAKE" --shared --captured-at "$AT" "$INPUT"',
    "build": 'submit jobs/build.py --lake "$LAKE"',
}
_INTERVAL_S = 0.2
_MB = 1_000_000
tell = partial(print, file=sys.stderr)


@dataclass
class Used:
    """The CPU seconds of the Python processes below some processes, by id, and the most resident
    bytes of one of them."""

    cpu_s: dict[int, float] = field(default_factory=dict)
    peak_bytes: int = 0

    def capture(self, roots: Sequence[int]) -> None:
        for pid in [one for root in roots for one in descendants(root)]:
            size, name = resident(pid)
            if not name.startswith(("python", "spark-submit")):
                continue
            with suppress(OSError):  # the process has ended
                self.cpu_s[pid] = cpu_seconds(pid)
            self.peak_bytes = max(self.peak_bytes, size)

    @property
    def seconds(self) -> float:
        return sum(self.cpu_s.values())


@dataclass(frozen=True)
class Job:
    """The cost of a submitted job: seconds by the clock, and the use of Python."""

    seconds: float
    driver: Used
    workers: Used

    @property
    def share(self) -> float:
        """The driver's share of all CPU time of Python."""
        return self.driver.seconds / (self.driver.seconds + self.workers.seconds)


@contextmanager
def _watched(driver: int, workers: Sequence[int]) -> Iterator[tuple[Used, Used]]:
    """Measures what Python uses below the processes while the block runs."""
    found = Used(), Used()

    def capture() -> None:
        found[0].capture([driver])
        found[1].capture(workers)

    with sampled(capture, _INTERVAL_S):
        yield found


def submit(job: str, cluster: Cluster, workplace: Path, variables: dict[str, str]) -> Job:
    """Runs a job on the cluster to its end. Raises RuntimeError, with the job's output, where it
    fails."""
    workers = [one.processes[0] for one in cluster.workers]
    began = time.perf_counter()
    with submitted(_SUBMIT + _JOBS[job], cluster, workplace, variables) as running:
        with _watched(running.process.pid, workers) as (driver, executors):
            code = running.process.wait()
        if code != 0:
            raise RuntimeError(running.said[-10_000:])
    return Job(time.perf_counter() - began, driver, executors)


def measure(
    inputs: dict[str, Path], folder: Path, cluster: Cluster, workplace: Path
) -> Iterator[tuple[str, dict[int, Job]]]:
    """The name of each input and job, and its cost by the number of workers."""
    python = str(Path(sys.executable).absolute())
    for number, (name, place) in enumerate(inputs.items()):
        found: dict[str, dict[int, Job]] = {job: {} for job in _JOBS}
        for cores in (1, 2):
            lake = folder / f"lake-{number}-{cores}"
            given = {"LAKE": lake, "INPUT": place, "AT": AT, "CORES": cores, "PYTHON": python}
            for job in _JOBS:
                cluster.whole()
                words = {key: str(value) for key, value in given.items()}
                found[job][cores] = done = submit(job, cluster, workplace, words)
                tell(f"{name}, {job}, {cores} cores: {done.seconds:.1f} s, {done.share:.1%}")
        yield from ((f"{job} of {name}", by_cores) for job, by_cores in found.items())


def section(found: Sequence[tuple[str, dict[int, Job]]]) -> str:
    """The section in Markdown."""
    lines = [
        "## Two workers of one core against one",
        "",
        f"`python -m tests.bench.workers --write`: a standalone cluster on {os.cpu_count()} cores, "
        "which its workers share with the master, the driver and its JVM. The share is the "
        "driver's of the CPU time of all Python.",
        "",
        "| job | one worker, s | two, s | ratio | driver's Python, CPU s | its share "
        "| its peak | Python workers, CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, by_cores in found:
        one, two = by_cores[1], by_cores[2]
        lines.append(
            f"| {name} | {one.seconds:.1f} | {two.seconds:.1f} | {two.seconds / one.seconds:.2f} "
            f"| {two.driver.seconds:.1f} | {two.share:.1%} | {two.driver.peak_bytes / _MB:.0f} MB "
            f"| {two.workers.seconds:.1f} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--size", type=int, default=5 * _MB, help="bytes of each cluster's log")
    parser.add_argument("--log", type=int, default=300 * _MB, help="bytes of the one log")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kraftlake-bench-") as name:
        folder = Path(name)
        inputs: dict[str, Path] = {}
        if asked.clusters:
            size = f"{asked.clusters} clusters of {asked.size / _MB:g} MB"
            write_fleet(folder / "fleet", asked.clusters, asked.size)
            inputs[size] = folder / "fleet"
        if asked.log:
            write_node(folder / "large", 0, asked.log)
            inputs[f"one log of {asked.log / _MB:g} MB"] = folder / "large"
        workplace = make_workplace(folder / "work")
        (folder / "daemons").mkdir()
        with Cluster(folder / "daemons", {}) as cluster:
            found = list(measure(inputs, folder, cluster, workplace))
    text = section(found)
    sys.stdout.write(text)
    if asked.write:
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
