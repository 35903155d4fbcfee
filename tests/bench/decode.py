"""How fast metadata logs are decoded, against kafka-dump-log and Kafka's own classes in process.

    python -m tests.bench.decode [--rounds 5] [--bytes 300000000] [--write]

Everything reads the same generated segment (tests.bench.segments) from a warm page cache, in turn.
--write puts the figures into RESULTS.md; otherwise they are only printed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from replica.format.segment import scan
from replica.scan.arrow import scan_batches, scan_records
from tests.bench import kafka
from tests.bench.report import write_results
from tests.bench.rounds import measure
from tests.bench.segments import write_segment

SCALAR_SHARE = 20
"""The scalar reader gets this part of the segment, and its time is multiplied: it is that slow."""


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
        for work in (bulk_json, bulk_walk):  # compile or load the kernels
            work(segment)
        start = start_seconds(segment)
        jvm = {mode: jvm_best(segment, mode) for mode in ("walk", "objects", "json")}
        seconds = measure(contenders(segment), options.rounds, tell)
    growth = {size: peak_memory(size) for size in (options.bytes // 10, options.bytes)}
    figures = write_results(records, options.bytes, seconds, jvm, start, growth)
    sys.stdout.write(figures)
    if options.write:
        stamp = datetime.now(UTC).strftime("%Y-%m-%d")
        Path(__file__).with_name("RESULTS.md").write_text(f"{figures}\nMeasured {stamp}.\n")


def tell(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")


def contenders(segment: Path) -> dict[str, Callable[[], float]]:
    """What is measured, the yardstick first."""
    dump = [sys.executable, "-m", "jobs.cli", "dump", "--json", "--keep-secrets", str(segment)]
    return {
        "kafka-dump-log": lambda: process(kafka.dump_log_command(segment)),
        "kraftlake dump --json": lambda: process(dump),
        "walk": lambda: timed(lambda: bulk_walk(segment)),
        "json": lambda: timed(lambda: bulk_json(segment)),
        "json, two threads": lambda: timed(lambda: two_threads(segment)),
        "scalar walk": lambda: SCALAR_SHARE * timed(lambda: scalar_walk(segment)),
    }


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def process(command: list[str]) -> float:
    """Seconds of a whole process, its output thrown away."""
    return timed(
        lambda: subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    )


def bulk_walk(segment: Path) -> int:
    """Read, batch headers, CRC."""
    return sum(batch.num_rows for batch in scan_batches(segment.read_bytes()))


def bulk_json(segment: Path) -> int:
    """Read, CRC, record walk and Kafka's JSON into Arrow buffers."""
    data = segment.read_bytes()
    return sum(batch.num_rows for batch in scan_records(data, with_value=False))


def two_threads(segment: Path) -> None:
    """The two halves of the segment at once, cut between batches."""
    data = segment.read_bytes()
    middle = _batch_near(data, len(data) // 2)
    halves = (memoryview(data)[:middle], memoryview(data)[middle:])
    threads = [threading.Thread(target=_drain, args=(half,)) for half in halves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _drain(data: memoryview) -> None:
    for _ in scan_records(data, with_value=False):
        pass


def _batch_near(data: bytes, position: int) -> int:
    at = 0
    while at < position:
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return at


def scalar_walk(segment: Path) -> int:
    """The reader in plain Python: batch headers and CRC."""
    return len(scan(segment.read_bytes()[: segment.stat().st_size // SCALAR_SHARE]).batches)


def jvm_best(segment: Path, mode: str) -> float:
    """Seconds of the best of five passes in one JVM."""
    tell(f"Kafka's classes in process: {mode}")
    return min(kafka.in_process(segment, mode, 5))


def start_seconds(segment: Path) -> float:
    """A new process that reads the first batches: what a start with compiled kernels costs."""
    code = (
        "import sys; from replica.scan.arrow import scan_records; "
        "next(iter(scan_records(open(sys.argv[1], 'rb').read(1000000), expected_offset=0)))"
    )
    return process([sys.executable, "-c", code, str(segment)])


def peak_memory(size: int) -> int:
    """Peak resident bytes of `kraftlake dump --json` on a segment of that size."""
    with tempfile.TemporaryDirectory(prefix="kraftlake-bench-") as folder:
        segment = Path(folder) / f"{0:020d}.log"
        write_segment(segment, size)
        code = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
            "stdout=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        dump = [sys.executable, "-m", "jobs.cli", "dump", "--json", "--keep-secrets", str(segment)]
        ran = subprocess.run(
            [sys.executable, "-c", code, *dump], check=True, capture_output=True, text=True
        )
    return int(ran.stdout) * 1024


if __name__ == "__main__":
    main()
