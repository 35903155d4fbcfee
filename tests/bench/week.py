"""What the captures of a week cost: `python -m tests.bench.week --write`.

A quorum of the simulator, three controllers and two brokers, is captured `--captures` times, by
default once for each hour of a week. Between two captures its metadata change `--changes` times;
once in a day its leader fails and another one is elected, and each node takes a snapshot. Each
capture is ingested into one lake, which is built then, by processes of their own. The page
compares each dozen of captures with the first. An hour of the simulator's clocks is `HOUR_MS`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

from replica.simulate.metadata_records import change_leader, create_topic, no_op
from replica.simulate.node import Layout
from replica.simulate.node_files import Files
from replica.simulate.scenarios.quorum import Capture, ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.bench.processes import Cost, cost
from tests.bench.sections import with_section
from tests.kraftlake_process import command_line

PAGE = Path(__file__).with_name("SCALE.md")
HOURS, DOZEN, DAY = 168, 12, 24
HOUR_MS = 10_000
TOPICS, PARTITIONS = 40, 50
tell = partial(print, file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Round:
    """The cost of a capture of all five replicas. size: the bytes of the lake after it."""

    ingest: Cost
    build: Cost
    size: int


def captures(count: int, changes: int) -> Iterator[Capture]:
    """`count` moments of one quorum, oldest first."""
    quorum = ScriptedQuorum("week", Layout(voters=3, observers=2))
    leader = 1
    quorum.elect(leader)
    quorum.populate(leader)
    for number in range(TOPICS):
        quorum.commit(
            leader, create_topic(f"topic-{number}", quorum.brokers, partitions=PARTITIONS)
        )
    for hour in range(count):
        if hour % DAY == DAY - 1:
            leader = _failover(quorum, leader)
            quorum.snapshot(*quorum.nodes)
        for number in range(hour * changes, (hour + 1) * changes):
            topic, partition = f"topic-{number % TOPICS}", number // TOPICS % PARTITIONS
            elected = quorum.brokers[number // TOPICS // PARTITIONS % 2]
            quorum.append(leader, change_leader(topic, partition, elected, quorum.brokers))
        quorum.commit(leader, create_topic(f"topic-of-hour-{hour}", quorum.brokers), no_op())
        quorum.run_ms(HOUR_MS)
        quorum.settle()
        capture = quorum.capture()
        files = {node: _in_one_segment(files) for node, files in capture.files.items()}
        yield replace(capture, files=files)


def _in_one_segment(files: Files) -> Files:
    """The files with one segment. The simulator's segments have 4 KB; Kafka's hold a gigabyte, so
    the whole week."""
    logs = sorted(path for path in files if path.endswith(".log"))
    kept = {p: b for p, b in files.items() if not p.endswith((".log", ".index", ".timeindex"))}
    return {**kept, logs[0]: b"".join(files[path] for path in logs)}


def _failover(quorum: ScriptedQuorum, leader: int) -> int:
    """The leader fails, another controller is elected, and the former leader comes back."""
    following = leader % len(quorum.voters) + 1
    quorum.crash(leader)
    quorum.elect(following)
    quorum.start(leader)
    quorum.settle()
    return following


def measure(folder: Path, count: int, changes: int) -> list[Round]:
    """The costs of each capture's ingest and build, in order, in a new lake below `folder`."""
    lake, rounds = folder / "lake", []
    for number, capture in enumerate(captures(count, changes), start=1):
        nodes = folder / f"{number:03d}"
        write_capture(capture, str(nodes))
        ingest = cost(command_line("ingest", "--lake", lake, nodes))
        build = cost(command_line("build", "--lake", lake))
        size = sum(file.stat().st_size for file in lake.rglob("*") if file.is_file())
        rounds.append(Round(ingest, build, size))
        shutil.rmtree(nodes)
        seconds = [*astuple(ingest), *astuple(build)]
        tell(f"{number} of {count}: {seconds}, {size / 1e6:.1f} MB")
    return rounds


def section(rounds: Sequence[Round], changes: int) -> str:
    """The section of SCALE.md: medians of each dozen of captures."""
    dozens = [rounds[at : at + DOZEN] for at in range(0, len(rounds), DOZEN)]
    first = median(_cpu(one) for one in dozens[0])
    lines = [
        f"## Hourly captures, {len(rounds)} of five replicas",
        "",
        f"`python -m tests.bench.week --captures {len(rounds)} --changes {changes} --write`, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[2]:.1f} in the last 15 minutes, "
        f"{datetime.now(UTC):%Y-%m-%d}. {TOPICS * PARTITIONS:,} partitions, {changes} changes of "
        "a leader and a new topic between two captures, a failover and a snapshot of each node "
        "every 24. Medians of a dozen captures; seconds of CPU time are those of the command and "
        "all that it started.",
        "",
        "| captures | ingest, s | ingest, CPU s | build, s | build, CPU s | both, CPU, "
        "to the first dozen's | lake, MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for number, dozen in enumerate(dozens):
        figures = [
            *(median(getattr(one.ingest, name) for one in dozen) for name in Cost.__slots__),
            *(median(getattr(one.build, name) for one in dozen) for name in Cost.__slots__),
        ]
        shown = " | ".join(f"{figure:.2f}" for figure in figures)
        ratio = median(_cpu(one) for one in dozen) / first
        named = f"{number * DOZEN + 1} to {number * DOZEN + len(dozen)}"
        lines.append(f"| {named} | {shown} | {ratio:.2f} | {dozen[-1].size / 1e6:.1f} |")
    return "\n".join([*lines, ""])


def _cpu(one: Round) -> float:
    return one.ingest.cpu_seconds + one.build.cpu_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=HOURS)
    parser.add_argument("--changes", type=int, default=60, help="between two captures")
    parser.add_argument("--write", action="store_true", help=f"a section of {PAGE.name}")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kraftlake-bench-") as folder:
        rounds = measure(Path(folder), asked.captures, asked.changes)
    text = section(rounds, asked.changes)
    sys.stdout.write(text)
    if asked.write:
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
