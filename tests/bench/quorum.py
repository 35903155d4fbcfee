"""A quorum of three under load: ours beside kafka.tools.TestRaftServer, both with the same linger.

python -m tests.bench.quorum FOLDER [--part PART] [--seconds N] [--warm-up N]

Three parts, each of some minutes. `latency`: 20,000 records a second of 256 bytes, as a
TestRaftServer writes them, by both kinds in turn, with several lingers. `rate`: ours gets more and
more records per second until it commits fewer than it gets. `observer`: a fourth kraftlake node
follows, and its lag behind the leader is measured every tenth of a second.

Rates are those of the high watermark, which both tell in the same way; latencies, from append to
commit, are what each leader prints. FOLDER decides which disk is measured. The rows go to standard
output, and into QUORUM.md by hand, beside what explains them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.lag import measured_lag
from tests.bench.processes import cpu_seconds
from tests.interop.kafka_jars import NEWEST
from tests.interop.kafka_node import free_ports
from tests.interop.mixed_quorum import KAFKAS, OURS, MixedQuorum, Voter, configure

RATE, BYTES = 20_000, 256
MORE = (100_000, 150_000, 200_000)
OBSERVED = 100_000
LINGERS_MS = (25, 5)
HELD = 0.98
"""The share of the wanted rate that counts as held."""
FETCH_TIMEOUT_MS = 10_000
"""The fetch timeout of both kinds. A TestRaftServer informs its leader of itself as often
(UpdateRaftVoter), and a leader that doesn't know this request closes the connection of the fetches.
"""
_LINGER, _IDLE = "controller.quorum.append.linger.ms", "kraftlake.append.when.idle"
_LATENCY = {
    KAFKAS: re.compile(r"Latency \(ms\): ([\d.]+) p75 ([\d.]+) p99 ([\d.]+) p999"),
    OURS: re.compile(r"latency \(ms\): p75 ([\d.]+), p99 ([\d.]+), p999 ([\d.]+)"),
}


@dataclass(frozen=True)
class Case:
    """A quorum to run. is_patient: whether our leader waits for the end of the linger, as Kafka's
    does."""

    kind: str
    rate: int
    linger_ms: int = 25
    is_patient: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind}, {_IDLE}=false" if self.is_patient else self.kind

    @property
    def properties(self) -> dict[str, object]:
        ours = {_IDLE: str(not self.is_patient).lower()} if self.kind == OURS else {}
        return {_LINGER: self.linger_ms, **ours}


@dataclass(frozen=True)
class Load:
    """The result of a quorum: committed records per second, the leader's CPU seconds per second,
    latencies in ms."""

    case: Case
    rate: float
    cpu: float
    p75: float
    p99: float
    p999: float

    @property
    def is_held(self) -> bool:
        return self.rate >= HELD * self.case.rate

    @property
    def row(self) -> str:
        latencies = " | ".join(f"{ms:.1f}" for ms in (self.p75, self.p99, self.p999))
        held = "yes" if self.is_held else "no"
        return (
            f"| {self.case.name} | {self.case.linger_ms} | {self.case.rate:,} | {self.rate:,.0f} | "
            f"{held} | {latencies} | {self.cpu:.2f} |"
        )


@dataclass(frozen=True)
class Times:
    """Durations in seconds."""

    warm_up: float
    measured: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", choices=("latency", "rate", "observer"), action="append")
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--warm-up", type=float, default=15.0)
    options = parser.parse_args()
    folder, times = options.folder / "quorum-bench", Times(options.warm_up, options.seconds)
    print(  # noqa: T201
        f"{options.seconds:g} s each after {options.warm_up:g} s, {os.cpu_count()} cores, "
        f"{datetime.now(UTC).date()}, load {os.getloadavg()[0]:.1f} before"
    )
    for part in options.part or ("latency", "rate", "observer"):
        for row in {"latency": latency_rows, "rate": rate_rows, "observer": observer_rows}[part](
            folder, times
        ):
            print(row, flush=True)  # noqa: T201
    return 0


def latency_rows(folder: Path, times: Times) -> Iterator[str]:
    for linger_ms in LINGERS_MS:
        for kind in (KAFKAS, OURS):
            yield loaded(folder, Case(kind, RATE, linger_ms), times).row
    yield loaded(folder, Case(OURS, RATE, is_patient=True), times).row


def rate_rows(folder: Path, times: Times) -> Iterator[str]:
    for rate in MORE:
        load = loaded(folder, Case(OURS, rate), times)
        yield load.row
        if not load.is_held:
            break


def observer_rows(folder: Path, times: Times) -> Iterator[str]:
    with _running(folder, Case(OURS, OBSERVED)) as quorum, _observer(folder, quorum) as observer:
        time.sleep(times.warm_up)
        lag = measured_lag(quorum.leader(), observer, _pid(observer), times.measured)
    yield (
        f"observer of {OBSERVED:,} records/s ({lag.rate / 1e6:.1f} MB/s): behind by "
        f"{lag.median_ms:.0f} ms in the median, {lag.most_ms:.0f} ms at most "
        f"({len(lag.looks)} looks), by {lag.last_ms:.0f} ms at the end; "
        f"{lag.cpu_share:.2f} s of CPU a second"
    )


def loaded(folder: Path, case: Case, times: Times) -> Load:
    """Runs a quorum of one kind for the given time, after it has warmed up; again where its leader
    changed meanwhile."""
    while True:
        with _running(folder, case) as quorum:
            measured = _measured(quorum, times)
        if measured is not None:
            rate, cpu, said = measured
            return Load(case, rate, cpu, *_latencies(case.kind, said))
        sys.stderr.write(f"{case.name}: the leader changed; again\n")


@contextmanager
def _running(folder: Path, case: Case) -> Iterator[MixedQuorum]:
    folder.mkdir(parents=True)
    try:
        with MixedQuorum(
            folder,
            3 if case.kind == OURS else 0,
            workload=(case.rate, BYTES),
            fetch_timeout_ms=FETCH_TIMEOUT_MS,
            properties=case.properties,
        ) as quorum:
            quorum.wait_for_commits(0)
            yield quorum
    finally:
        shutil.rmtree(folder)


@contextmanager
def _observer(folder: Path, quorum: MixedQuorum) -> Iterator[Voter]:
    """A node that isn't one of the voters."""
    (port,) = free_ports(1)
    observer = Voter(4, OURS, folder / "4", port, NEWEST)
    ports = {node_id: voter.port for node_id, voter in quorum.voters.items()}
    servers = ",".join(f"127.0.0.1:{voter}" for voter in ports.values())
    properties = {"controller.quorum.bootstrap.servers": servers}
    configure(observer, ports, FETCH_TIMEOUT_MS, properties)
    observer.start()
    try:
        yield observer
    finally:
        observer.kill()


def _measured(quorum: MixedQuorum, times: Times) -> tuple[float, float, str] | None:
    """(records committed per second, the leader's CPU time per second, its output); None where the
    leader changed."""
    time.sleep(times.warm_up)
    leader, epoch = quorum.leader(), quorum.leader().election
    output = leader.folder / "output.txt"
    told, cpu = output.stat().st_size, cpu_seconds(_pid(leader))
    before, began = quorum.committed(), time.monotonic()
    time.sleep(times.measured)
    after, took = quorum.committed(), time.monotonic() - began
    if quorum.leader().election != epoch:
        return None
    said = output.read_bytes()[told:].decode()
    return (after - before) / took, (cpu_seconds(_pid(leader)) - cpu) / took, said


def _pid(voter: Voter) -> int:
    assert voter.process is not None
    return voter.process.pid


def _latencies(kind: str, said: str) -> tuple[float, float, float]:
    """The medians of the latencies that were printed every five seconds, in ms: p75, p99, p999."""
    found = [tuple(map(float, texts)) for texts in _LATENCY[kind].findall(said)]
    p75, p99, p999 = (statistics.median(values) for values in zip(*found, strict=True))
    return p75, p99, p999


if __name__ == "__main__":
    sys.exit(main())
