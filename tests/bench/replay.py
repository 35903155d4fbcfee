"""How fast a log in bronze becomes gold.metadata_history and gold.metadata_changes.

    python -m tests.bench.replay FOLDER [--records 1000000 10000000 30000000] [--engine spark]
        [--write]

The log is that of a cluster of 200,000 partitions that change without end. What is measured are the
stages "survey" and "replay" of `kraftlake build`: from bronze.log_records and the known branch to
the files of both gold tables. FOLDER takes some 300 bytes a record for the time of the run, and
keeps the logs for the next one.

The stage "replay" walks the records, writes the files, and judges their rows by every expectation.
So both parts are also measured apart, in one process and by its CPU time, which other work on the
machine hardly changes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

from pyarrow.dataset import Dataset

from jobs.cli.commands.lake import IngestOptions
from jobs.cli.lake.engines import runner_of
from jobs.ingest import run as ingest
from pipelines.build import build
from pipelines.lake import Lake
from pipelines.large_clusters import buckets_for
from pipelines.quality.judge import Judged, judge_files
from pipelines.runners.local import LocalRunner
from pipelines.stages import buckets
from pipelines.stages.output import UnitResult
from pipelines.stages.pins import Pins
from pipelines.tables import gold, silver
from pipelines.tables.contract import Contract
from replica.format.file_names import METADATA_FOLDER
from tests.bench.ingest import RECORDED
from tests.bench.memory import Peak, peak
from tests.bench.segments import write_cluster

_BYTES_PER_RECORD = 48
_RECORDS = (1_000_000, 10_000_000, 30_000_000)
_RESULTS = Path(__file__).with_name("REPLAY.md")


@dataclass
class Parts:
    """The CPU seconds of one process for the two parts of the stage "replay"."""

    walk: float = 0
    """Until the files of both tables are written."""
    judging: float = 0


@dataclass(frozen=True)
class Replayed:
    """The replay of one log. seconds: until both tables are written. sizes: the bytes of their
    files."""

    records: int
    seconds: float
    versions: int
    changes: int
    buckets: int
    size: int
    memory: Peak
    parts: Parts

    @property
    def rate(self) -> float:
        return self.records / self.seconds


_MEASURED = ("survey", "replay")


def replayed(folder: Path, records: int, engine: str) -> Replayed:
    """Ingests a log of about `records` records into a new lake, and measures its replay."""
    root = folder / f"lake-{records}"
    try:
        lake = Lake(root)
        ingest(IngestOptions([str(segment_of(folder, records).parent.parent)], lake))
        parts = parts_of(lake)
        for layer in ("silver", "gold"):  # no table has a commit yet, but files are there
            shutil.rmtree(root / layer)
        with peak() as memory, runner_of("build", lake, engine) as runner:
            counts = build(lake, runner, lambda _: None)
        seconds = sum(one.seconds for one in runner.ran if one.name in _MEASURED)
        assert seconds, "the log is too short: it was derived in one unit"
        count = counts[silver.COMMITTED_LOG.name]
        size = sum(
            file.stat().st_size
            for table in (gold.METADATA_HISTORY, gold.METADATA_CHANGES)
            for file in Path(lake.path_of(table)).glob("*.parquet")
        )
        versions = counts[gold.METADATA_HISTORY.name]
        changes = counts[gold.METADATA_CHANGES.name]
        parts_made = buckets_for(runner.at_once, count)
        return Replayed(count, seconds, versions, changes, parts_made, size, memory, parts)
    finally:
        shutil.rmtree(root, ignore_errors=True)


class _Done(BaseException):
    """Ends a build behind the stage that is measured."""


def parts_of(lake: Lake) -> Parts:
    """Builds the lake until its replay is done, which commits nothing, and measures both parts."""
    parts = Parts()
    runner = LocalRunner(at_once=1)

    def tell(_: str) -> None:
        if any(stage.name == "replay" for stage in runner.ran):
            raise _Done

    replay = buckets.replay_bucket

    def timed_replay(unit: buckets.Bucket, pins: Pins) -> UnitResult:
        before, judging = time.process_time(), parts.judging
        result = replay(unit, pins)
        parts.walk += time.process_time() - before - (parts.judging - judging)
        return result

    def timed_judge(contract: Contract, files: Dataset) -> Judged:
        before = time.process_time()
        result = judge_files(contract, files)
        parts.judging += time.process_time() - before
        return result

    with (
        patch.object(buckets, "replay_bucket", timed_replay),
        patch.object(buckets, "judge_files", timed_judge),
        suppress(_Done),
        runner,
    ):
        build(lake, runner, tell)
    assert parts.walk, "the log is too short: it was derived in one unit"
    assert parts.judging
    return parts


def segment_of(folder: Path, records: int) -> Path:
    """A log of about `records` records. It is made where no earlier run has left it."""
    segment = folder / f"log-{records}" / METADATA_FOLDER / f"{0:020d}.log"
    if not segment.exists():
        segment.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(RECORDED, segment.parent.parent)
        draft = segment.with_suffix(".part")
        write_cluster(draft, records * _BYTES_PER_RECORD)
        draft.rename(segment)
    return segment


def report(runs: Iterable[Replayed]) -> str:
    lines = [
        "# Replay of a metadata log into history and changes",
        "",
        f"`python -m tests.bench.replay`: one run on {os.cpu_count()} cores, load "
        f"{os.getloadavg()[1]:.1f} in the last five minutes, {datetime.now(UTC):%Y-%m-%d}. A "
        "cluster of 200,000 partitions that change without end; from bronze.log_records to the "
        "files of both gold tables, their rows judged. Memory is the highest resident size seen in "
        "the whole build. The walk, which writes the files, and the judging are also measured "
        "apart: the CPU time of one process.",
        "",
        "| records | s | records/s | walk, us a record | judging, us a record | versions "
        "| changes | buckets | both tables, MB | JVM, MB | Python workers, MB | driver, MB "
        "| together, MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        memory = run.memory
        sizes = run.size, memory.jvm, memory.workers, memory.driver, memory.together
        shown = " | ".join(f"{size / 1e6:,.0f}" for size in sizes)
        walk, judging = (1e6 * one / run.records for one in (run.parts.walk, run.parts.judging))
        lines.append(
            f"| {run.records:,} | {run.seconds:.1f} | {run.rate:,.0f} | {walk:.1f} "
            f"| {judging:.1f} | {run.versions:,} | {run.changes:,} | {run.buckets} | {shown} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, nargs="+", default=list(_RECORDS))
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--write", action="store_true", help="into tests/bench/REPLAY.md")
    options = parser.parse_args()
    for records in options.records:
        segment_of(options.folder, records)
    runs: list[Replayed] = []
    for records in options.records:
        runs.append(replayed(options.folder, records, options.engine))
        sys.stderr.write(report(runs[-1:]).splitlines()[-1] + "\n")
    text = report(runs)
    if options.write:
        _RESULTS.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
