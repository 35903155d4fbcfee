"""What an ingest of a log costs when it has grown by a megabyte.

    python -m tests.bench.ingest --size 300 --write

There are four ingests of a node's log of --size MB, in segments of at most 1 GB: of the whole log,
of the log after it has grown by 1 MB, of the unchanged log, and, after it has grown by 1 MB again,
with --verify, which reads everything. Each ingest is a process of its own, as a user runs it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from replica.format.file_names import METADATA_FOLDER
from replica.format.walk import LocatedBatch
from replica.scan.segments import scan
from tests.bench.sections import with_section
from tests.bench.segments import write_segment
from tests.kraftlake_process import command_line

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("INGEST.md")
RECORDED = ROOT / "tests/data/kafka-3.7.2-static/final/1/meta.properties"
MB = 1_000_000
MAX_SEGMENT_BYTES = 1000 * MB
_SOURCE_BYTES = 100 * MB
_PEAK = (
    "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(done.returncode)"
)


@dataclass(frozen=True)
class Cost:
    """The cost of one ingest: seconds; the MB of the log that were read, and the MB of the log; the
    peak bytes of the driver's Python, without its JVM and the workers."""

    name: str
    seconds: float
    read: float
    held: float
    peak: int


class Log:
    """A node's directory whose log can grow by generated batches at new offsets."""

    def __init__(self, node: Path) -> None:
        self.folder = node / METADATA_FOLDER
        self.folder.mkdir(parents=True)
        shutil.copy(RECORDED, node)
        with tempfile.TemporaryDirectory(dir=node.parent) as folder:
            source = Path(folder) / f"{0:020d}.log"
            write_segment(source, _SOURCE_BYTES)
            self.data = source.read_bytes()
        self.batches = scan(self.data, expected_offset=0).batches
        self.offset = self.epoch = 0
        self.endless = self._repeated()
        self.active = self._roll()

    def grow(self, size: int) -> None:
        """Grows the log by at least `size` bytes."""
        while size > 0:
            if self.active.stat().st_size >= MAX_SEGMENT_BYTES:
                self.active = self._roll()
            with self.active.open("ab") as out:
                end = min(out.tell() + size, MAX_SEGMENT_BYTES)
                size -= end - out.tell()
                while out.tell() < end:
                    out.write(self._moved(next(self.endless)))

    def _roll(self) -> Path:
        path = self.folder / f"{self.offset:020d}.log"
        path.touch()
        return path

    def _repeated(self) -> Iterator[LocatedBatch]:
        while True:
            yield from self.batches

    def _moved(self, batch: LocatedBatch) -> bytes:
        """The batch moved to the log's end. The CRC doesn't cover its offset and epoch."""
        header = batch.header
        self.epoch += header.is_control
        head = struct.pack(">qii", self.offset, header.size_bytes - 12, self.epoch)
        self.offset += header.last_offset - header.base_offset + 1
        return head + self.data[batch.position + 16 : batch.position + header.size_bytes]


def ingest(name: str, node: Path, lake: Path, *options: str) -> Cost:
    """Runs one ingest as a process."""
    command = command_line("ingest", *options, "--lake", lake, node)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(done.stderr)
    read, held = re.findall(r"read ([0-9.]+) MB of ([0-9.]+) MB", done.stderr)[-1]
    peak = int(done.stdout.splitlines()[-1]) * 1024
    return Cost(name, seconds, float(read), float(held), peak)


def measure(size: int, folder: Path) -> list[Cost]:
    """Measures the four ingests of a log of `size` MB."""
    log = Log(folder / "node")
    log.grow(size * MB)
    node, lake = folder / "node", folder / "lake"
    costs = [ingest("the whole log, into a new lake", node, lake)]
    tell(costs[-1])
    for name, grown, options in (
        ("1 MB more", MB, ()),
        ("nothing new", 0, ()),
        ("1 MB more, --verify", MB, ("--verify",)),
    ):
        log.grow(grown)
        costs.append(ingest(name, node, lake, *options))
        tell(costs[-1])
    return costs


def tell(cost: Cost) -> None:
    sys.stderr.write(f"{cost.name}: {cost.seconds:.1f} s, {cost.read} of {cost.held} MB\n")


def page(size: int, costs: list[Cost]) -> str:
    """The section of INGEST.md."""
    rows = "\n".join(
        f"| {c.name} | {c.read:,.1f} MB | {c.held:,.1f} MB | {c.seconds:.1f} s "
        f"| {c.peak / 1e6:,.0f} MB |"
        for c in costs
    )
    return f"""## A log of {size:,} MB

On {os.cpu_count()} cores, load {os.getloadavg()[2]:.1f} in the last 15 minutes,
{datetime.now(UTC):%Y-%m-%d}.

| ingested | read of the log | log | seconds | peak memory of the driver |
|---|---|---|---|---|
{rows}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=300, help="MB")
    parser.add_argument("--folder", type=Path, help="where there is room for some times as much")
    parser.add_argument("--write", action="store_true", help=f"add to {RECORD.name}")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        costs = measure(asked.size, Path(folder))
    text = page(asked.size, costs)
    sys.stdout.write(text)
    if asked.write:
        RECORD.write_text(with_section(RECORD.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
