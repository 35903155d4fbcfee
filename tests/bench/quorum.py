"""A quorum of three under load: ours beside kafka.tools.TestRaftServer, both with the same linger.

python -m tests.bench.quorum FOLDER [--rounds N] [--seconds N] [--write]

Each round runs one quorum after the other: 20,000 records a second of 256 bytes, which is what a
TestRaftServer writes. Rates are those of the high watermark, which both tell in the same way;
latencies, from append to commit, are what each leader prints. Then ours is given more and more
until it doesn't hold it. FOLDER decides which disk is measured. --write: into QUORUM.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.interop.mixed_quorum import MixedQuorum

RATE, BYTES = 20_000, 256
MORE = (30_000, 40_000, 50_000, 60_000, 80_000, 100_000)
HELD = 0.98
"""Of the rate asked for: what counts as held."""
WARM_UP_S = 20.0
FETCH_TIMEOUT_MS = 10_000
"""Of both. As often a TestRaftServer tells its leader of itself (UpdateRaftVoter), and the leader,
which doesn't know that, closes the connection that the fetches use."""
RECORD = Path(__file__).with_name("QUORUM.md")
_LATENCY = {
    "kafka": re.compile(r"Latency \(ms\): ([\d.]+) p75 ([\d.]+) p99 ([\d.]+) p999"),
    "kraftlake": re.compile(r"latency \(ms\): p75 ([\d.]+), p99 ([\d.]+), p999 ([\d.]+)"),
}


@dataclass(frozen=True)
class Load:
    """What one quorum did: committed records a second, and latencies in ms."""

    kind: str
    asked: int
    rate: float
    p75: float
    p99: float
    p999: float

    @property
    def is_held(self) -> bool:
        return self.rate >= HELD * self.asked

    @property
    def row(self) -> str:
        latencies = " | ".join(f"{ms:.1f}" for ms in (self.p75, self.p99, self.p999))
        held = "yes" if self.is_held else "no"
        return f"| {self.kind} | {self.asked:,} | {self.rate:,.0f} | {held} | {latencies} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    folder = options.folder / "quorum-bench"
    rows = [
        loaded(folder, kind, RATE, options.seconds)
        for _ in range(options.rounds)
        for kind in ("kafka", "kraftlake")
    ]
    for rate in MORE:
        rows.append(loaded(folder, "kraftlake", rate, options.seconds))
        if not rows[-1].is_held:
            break
    text = page(rows, options.rounds, options.seconds)
    sys.stdout.write(text)
    if options.write:
        RECORD.write_text(text)
    return 0


def loaded(folder: Path, kind: str, rate: int, seconds: float) -> Load:
    """Run a quorum of one kind for so long, after it has warmed up; again where its leader changed
    meanwhile."""
    while True:
        folder.mkdir(parents=True)
        try:
            count = 3 if kind == "kraftlake" else 0
            with MixedQuorum(
                folder, count, workload=(rate, BYTES), fetch_timeout_ms=FETCH_TIMEOUT_MS
            ) as quorum:
                measured = _measured(quorum, seconds)
        finally:
            shutil.rmtree(folder)
        if measured is not None:
            committed, said = measured
            load = Load(kind, rate, committed / seconds, *_latencies(kind, said))
            sys.stderr.write(load.row + "\n")
            return load
        sys.stderr.write(f"{kind}: the leader changed; again\n")


def _measured(quorum: MixedQuorum, seconds: float) -> tuple[float, str] | None:
    """(records committed in so many seconds, what the leader printed meanwhile); None where it
    didn't stay the leader."""
    quorum.wait_for_commits(0)
    time.sleep(WARM_UP_S)
    leader, epoch = quorum.leader(), quorum.leader().election
    output = leader.folder / "output.txt"
    told, before, began = output.stat().st_size, quorum.committed(), time.monotonic()
    time.sleep(seconds)
    after, took = quorum.committed(), time.monotonic() - began
    if quorum.leader().election != epoch:
        return None
    return (after - before) * seconds / took, output.read_bytes()[told:].decode()


def _latencies(kind: str, said: str) -> tuple[float, float, float]:
    """Medians of what was printed every five seconds, in ms: p75, p99, p999."""
    found = [tuple(map(float, texts)) for texts in _LATENCY[kind].findall(said)]
    p75, p99, p999 = (statistics.median(values) for values in zip(*found, strict=True))
    return p75, p99, p999


def page(rows: list[Load], rounds: int, seconds: float) -> str:
    return "\n".join(
        [
            "# A quorum of three under load\n",
            f"`python -m tests.bench.quorum FOLDER`: {rounds} rounds in turn, {seconds:g} s each "
            f"after {WARM_UP_S:g} s, on {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} in "
            f"the last five minutes, {datetime.now(UTC).date()}. Records of {BYTES} bytes, linger "
            "25 ms. Rates are of committed records, latencies in ms from append to commit.\n",
            "| quorum | asked for, records/s | committed, records/s | held | p75 | p99 | p999 |",
            "|---|---|---|---|---|---|---|",
            *(row.row for row in rows),
            "",
            f"Fetch timeout of both {FETCH_TIMEOUT_MS} ms. TestRaftServer's histogram ends at "
            "249 ms: what is more counts as that. On a busy machine start this by `chrt -r 1`, "
            "which puts it before all others.",
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
