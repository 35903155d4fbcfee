"""What `ingest`, `build` and `demo` cost, in starts of Spark: `python -m tests.bench.lake --write`.

S is one process that starts kraftlake's session, writes one row to a new Delta table by Spark,
reads it back and stops. It is measured in each round, as are the commands, as whole processes. An
ingest of 300 MB is compared with Kafka's kafka-dump-log of the same segment. The tool is downloaded
once.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from tests.bench.fleet import write_fleet, write_node
from tests.bench.kafka import dump_log_command
from tests.bench.processes import process
from tests.bench.segments import write_segment
from tests.kraftlake_process import REPOSITORY, command_line

PAGE = Path(__file__).with_name("LAKE.md")
INCIDENT = REPOSITORY / "tests" / "data" / "kafka-4.1.1-dynamic" / "split"
AT, LATER = "2026-11-21T01:00Z", "2026-11-21T02:00Z"
YARDSTICK = "S: start Spark, write and read a row"
_START = """
import sys
from pipelines.spark.session import spark_session
spark = spark_session("kraftlake bench")
spark.range(1).write.format("delta").save(sys.argv[1])
assert spark.read.format("delta").load(sys.argv[1]).count() == 1
spark.stop()
"""
CLUSTERS, CLUSTER_BYTES = 20, 1_000_000
BOTH_OF_FLEET = f"local: both at once, a new lake of {CLUSTERS} clusters of 1 MB, for each cluster"
_GOALS = {
    "Spark: ingest of the incident, new lake": ("", "0.7"),
    "Spark: build of it": ("8", "0.8"),
    "Spark: both in one session (`ingest --build`)": ("", "1.0"),
    "Spark: `kraftlake demo`": ("", "1.5"),
    "local: ingest of the incident, new lake": ("0.11", "0.11"),
    "local: ingest, nothing new": ("0.06", "0.06"),
    "local: build of it": ("0.18", "0.18"),
    "local: build, nothing new": ("0.04", "0.04"),
    "local: both at once (`ingest --build`)": ("0.19", "0.19"),
    "local: `kraftlake demo`": ("0.34", "0.34"),
    BOTH_OF_FLEET: ("0.07", "0.07"),
    "local: ingest of 1 MB more of one of them": ("0.08", "0.08"),
    "local: build after it": ("0.41", "0.2"),
}
"""By work: S at the time when the goals were set, and the goal."""
SEGMENT_BYTES = 300_000_000
INGEST_OF_SEGMENT, DUMP_OF_SEGMENT = "ingest of 300 MB, new lake", "kafka-dump-log of the 300 MB"
tell = partial(print, file=sys.stderr)


@dataclass(frozen=True)
class Inputs:
    """Metadata directories that all rounds read. grown: of a cluster of the fleet, with a longer
    log. segment: the only segment of the node `large`."""

    fleet: Sequence[Path]
    grown: Path
    large: Path
    segment: Path

    @staticmethod
    def written(folder: Path) -> Inputs:
        fleet = write_fleet(folder / "fleet", CLUSTERS, CLUSTER_BYTES)
        grown = write_node(folder / "grown", 0, 2 * CLUSTER_BYTES)
        large = write_node(folder / "large", 0, 0)
        (segment,) = large.glob("*/*.log")
        write_segment(segment, SEGMENT_BYTES)
        return Inputs(fleet, grown, large, segment)


def measure(inputs: Inputs, folder: Path) -> dict[str, float]:
    """The seconds of S and of each work, in order, in a new folder."""
    works = {YARDSTICK: [sys.executable, "-c", _START, str(folder / "row")]}
    works |= _works_of_incident(folder / "by Spark", "spark")
    works |= _works_of_incident(folder / "locally", "local")
    seconds = {}
    works |= _works_of_fleet(inputs, folder)
    works |= _works_of_segment(inputs, folder)
    for name, command in works.items():
        seconds[name] = process(command) / (CLUSTERS if name == BOTH_OF_FLEET else 1)
        tell(f"{name}: {seconds[name]:.1f} s")
    return seconds


def _works_of_incident(folder: Path, engine: str) -> dict[str, list[str]]:
    """The commands on the recorded incident, by the names of their works, in their order."""
    by = ("--engine", engine)
    lake = folder / "lake"
    ingest = command_line("ingest", "--lake", lake, "--captured-at", AT, *by, INCIDENT)
    build = command_line("build", "--lake", lake, *by)
    new = ("--lake", folder / "other", "--captured-at", AT)
    both = command_line("ingest", *new, "--build", *by, INCIDENT)
    demo = command_line("demo", "--lake", folder / "demo", *by)
    by_spark, locally = [*_GOALS][:4], [*_GOALS][4:10]
    if engine == "spark":
        return dict(zip(by_spark, (ingest, build, both, demo), strict=True))
    return dict(zip(locally, (ingest, ingest, build, build, both, demo), strict=True))


def _works_of_fleet(inputs: Inputs, folder: Path) -> dict[str, list[str]]:
    """The commands on the fleet, by the names of their works, in their order."""
    lake = folder / "fleet lake"
    both = command_line("ingest", "--lake", lake, "--captured-at", AT, "--build", *inputs.fleet)
    ingest = command_line("ingest", "--lake", lake, "--captured-at", LATER, inputs.grown)
    build = command_line("build", "--lake", lake)
    return dict(zip([*_GOALS][-3:], (both, ingest, build), strict=True))


def _works_of_segment(inputs: Inputs, folder: Path) -> dict[str, list[str]]:
    """The commands on the large segment, by the names of their works, in their order."""
    lake = folder / "large lake"
    ingest = command_line("ingest", "--lake", lake, "--captured-at", AT, inputs.large)
    return {INGEST_OF_SEGMENT: ingest, DUMP_OF_SEGMENT: dump_log_command(inputs.segment)}


def page(rounds: Sequence[dict[str, float]]) -> str:
    """The page in Markdown: medians of the rounds, and of the ratios to S in the same round."""
    start = median(one[YARDSTICK] for one in rounds)
    lines = [
        "# What a lake costs, in starts of Spark",
        "",
        f"`python -m tests.bench.lake --write`, {len(rounds)} rounds, medians. S is one process "
        "that starts our session, writes one row to a new Delta table, reads it back and stops: "
        f"{start:.1f} s here. The incident: five replicas, 1.5 MB in all "
        "(tests/data/kafka-4.1.1-dynamic/split). The fleet: a replica of each cluster, 20,000 "
        "records (tests/bench/fleet.py).",
        "",
        "| work | s | in S | before, in S | goal |",
        "|---|---|---|---|---|",
    ]
    for name, (before, goal) in _GOALS.items():
        seconds = median(one[name] for one in rounds)
        ratio = median(one[name] / one[YARDSTICK] for one in rounds)
        lines.append(f"| {name} | {seconds:.1f} | {ratio:.2f} | {before} | {goal} |")
    return "\n".join([*lines, "", *_beside_kafka(rounds), ""])


def _beside_kafka(rounds: Sequence[dict[str, float]]) -> list[str]:
    small = "local: ingest of the incident, new lake"
    beyond = [one[INGEST_OF_SEGMENT] - one[small] for one in rounds]
    parts = [took / one[DUMP_OF_SEGMENT] for took, one in zip(beyond, rounds, strict=True)]
    ingest, dump = (
        median(one[name] for one in rounds) for name in (INGEST_OF_SEGMENT, DUMP_OF_SEGMENT)
    )
    return [
        f"A segment of {SEGMENT_BYTES // 1_000_000} MB (tests/bench/segments.py), into a new lake "
        "and by Kafka's kafka-dump-log:",
        "",
        "| ingest, s | beyond the incident's, s | kafka-dump-log, s "
        "| beyond the incident's, of kafka-dump-log's | goal | stretch |",
        "|---|---|---|---|---|---|",
        f"| {ingest:.1f} | {median(beyond):.1f} | {dump:.1f} | {median(parts):.2f} | 0.17 | 0.1 |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args()
    rounds = []
    with tempfile.TemporaryDirectory(prefix="kraftlake-bench-") as folder:
        inputs = Inputs.written(Path(folder, "inputs"))
        for number in range(1, asked.rounds + 1):
            tell(f"round {number} of {asked.rounds}")
            place = Path(folder, f"round {number}")
            place.mkdir()
            rounds.append(measure(inputs, place))
            shutil.rmtree(place)
    text = page(rounds)
    sys.stdout.write(text)
    if asked.write:
        kept = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        notes = kept[kept.index("\n## ") :] if "\n## " in kept else ""
        PAGE.write_text(text + notes, encoding="utf-8")


if __name__ == "__main__":
    main()
