"""How fast metadata logs are decoded, against kafka-dump-log and Kafka's own classes in process.

    python -m tests.bench.decode [--rounds 5] [--bytes 300000000] [--write]

Everything reads the same generated segment (tests.bench.segments) from a warm page cache, in turn.
--write puts the figures into RESULTS.md; otherwise they are only printed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import check, kafka, report, simulate, spark_ways
from tests.bench.processes import dump_command, peak_memory, process, starts, timed
from tests.bench.rounds import Measure, measure
from tests.bench.segments import write_segment
from tests.bench.threads import Ceiling, Halves
from tests.bench.works import SCALAR_SHARE, scalar_walk, works


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=300_000_000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kraftlake-bench-") as folder:
        segment = Path(folder) / f"{0:020d}.log"
        tell(f"writing a segment of {options.bytes} bytes")
        records = write_segment(segment, options.bytes)
        jvm = {mode: jvm_best(segment, mode) for mode in ("walk", "objects", "json")}
        seconds = measure(contenders(segment), options.rounds, tell)
        into_delta = spark_ways.measure(segment, options.rounds, tell)
    checked = check.measured(options.bytes, options.rounds, tell)
    tell("starts and memory")
    growth = {size: peak_memory(size) for size in (options.bytes // 10, options.bytes)}
    tell("the simulator")
    speed = simulate.measure()
    figures = report.Figures(
        records,
        options.bytes,
        seconds,
        into_delta,
        jvm,
        checked,
        starts(),
        growth,
        speed,
    )
    page = report.page(figures)
    sys.stdout.write(page)
    if options.write:
        stamp = datetime.now(UTC).strftime("%Y-%m-%d")
        Path(__file__).with_name("RESULTS.md").write_text(f"{page}\nMeasured {stamp}.\n")


def tell(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")


def contenders(segment: Path) -> dict[str, Measure]:
    """The measured readers, the yardstick first. Readers in this process have run once before."""
    data = segment.read_bytes()
    halves, ceiling = Halves(data), Ceiling()
    in_process = works(segment, data) | {
        report.ONE_THREAD: halves.alone,
        report.TWO_THREADS: halves.together,
        report.CEILING_ALONE: ceiling.alone,
        report.CEILING_TOGETHER: ceiling.together,
    }
    for work in in_process.values():  # compile or load the kernels
        work()
    process(dump_command(segment))
    return {
        report.YARDSTICK: lambda: process(kafka.dump_log_command(segment)),
        "kraftlake dump --json": lambda: process(dump_command(segment)),
        **{name: _timing(work) for name, work in in_process.items()},
        "scalar walk": lambda: SCALAR_SHARE * timed(lambda: scalar_walk(data)),
    }


def _timing(work: Callable[[], object]) -> Measure:
    return lambda: timed(work)


def jvm_best(segment: Path, mode: str) -> float:
    """The seconds of the best of five passes in one JVM."""
    tell(f"Kafka's classes in process: {mode}")
    return min(kafka.in_process(segment, mode, 5))


if __name__ == "__main__":
    main()
