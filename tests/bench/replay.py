"""How fast a log in bronze becomes gold.metadata_history and gold.metadata_changes.

    python -m tests.bench.replay FOLDER [--records 1000000 10000000 30000000] [--write]

The log is that of a cluster of 200,000 partitions that change without end. What is measured runs
from the table bronze.log_records, of which the build knows the agreed branch by then, to the
commits of both gold tables, as `kraftlake build` makes them, in one session on two cores. FOLDER
takes some 300 bytes a record for the time of the run, and keeps the logs for the next one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from pipelines import delta
from pipelines.lake.delta_rs import newest_versions
from pipelines.large.log import ClusterLog, pieces_of
from pipelines.large.replay import buckets_for
from pipelines.large.replay import replayed as replay
from pipelines.quality.admitted import Admitted
from pipelines.silver.committed_log import AgreedBranch
from pipelines.tables import bronze, gold
from pipelines.tasks import OnSpark
from tests.bench.memory import Peak, peak
from tests.bench.processes import timed
from tests.bench.segments import write_cluster
from tests.bench.spark_ways import session, write_directly

_BYTES_PER_RECORD = 48
_RECORDS = (1_000_000, 10_000_000, 30_000_000)
_RESULTS = Path(__file__).with_name("REPLAY.md")


@dataclass(frozen=True)
class Replayed:
    """One log's replay. seconds: to both tables; sizes: bytes of their files."""

    records: int
    seconds: float
    versions: int
    changes: int
    buckets: int
    size: int
    memory: Peak

    @property
    def rate(self) -> float:
        return self.records / self.seconds


def replayed(spark: SparkSession, folder: Path, records: int) -> Replayed:
    """Brings a log of about so many records into a new lake, and measures its replay."""
    root = folder / f"lake-{records}"
    try:
        lake = delta.Lake(root)
        log = _ingested(spark, lake, segment_of(folder, records))
        with peak() as memory:
            seconds = timed(lambda: _build(spark, lake, log))
        count = log.committed.entries
        buckets = buckets_for(OnSpark(spark).at_once, count)
        versions, changes = (
            delta.read(spark, lake, table).count()
            for table in (gold.METADATA_HISTORY, gold.METADATA_CHANGES)
        )
        size = sum(file.stat().st_size for file in root.rglob("gold/**/*.parquet"))
        return Replayed(count, seconds, versions, changes, buckets, size, memory)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def segment_of(folder: Path, records: int) -> Path:
    """A log of about so many records, made where it isn't there from another run."""
    segment = folder / f"log-{records}" / f"{0:020d}.log"
    if not segment.exists():
        segment.parent.mkdir(parents=True, exist_ok=True)
        draft = segment.with_suffix(".part")
        write_cluster(draft, records * _BYTES_PER_RECORD)
        draft.rename(segment)
    return segment


_BRANCH = """SELECT min(cluster_id) AS cluster_id, min("offset") AS low, max("offset") + 1 AS high,
leader_epoch, crc FROM t GROUP BY base_offset, leader_epoch, crc ORDER BY base_offset"""


def _ingested(spark: SparkSession, lake: delta.Lake, segment: Path) -> ClusterLog:
    """One replica's log in bronze, all of it proven."""
    for table in bronze.BRONZE:
        delta.ensure_table(lake, table)
    write_directly(spark, lake, segment)
    found = delta.answer(lake, bronze.LOG_RECORDS, _BRANCH)
    names = ("low", "high", "leader_epoch", "crc")
    low, high, epochs, crcs = (found[name].to_numpy().astype(np.int64) for name in names)
    is_proven = np.ones(found.num_rows, np.bool_)
    cluster_id = str(found["cluster_id"][0].as_py())
    committed = AgreedBranch(low, high, epochs, crcs, is_proven, cluster_id)
    admitted = Admitted(lake, newest_versions(lake, (one.name for one in bronze.BRONZE)))
    return ClusterLog(committed, tuple(pieces_of(committed, None)), (), (), admitted)


def _build(spark: SparkSession, lake: delta.Lake, log: ClusterLog) -> None:
    for table in (gold.METADATA_HISTORY, gold.METADATA_CHANGES):
        delta.ensure_table(lake, table)
    told = replay(OnSpark(spark), lake, {log.committed.cluster_id: log})
    delta.commit(lake, gold.METADATA_HISTORY, told.history, "overwrite")
    delta.replace_by_files(spark, lake, gold.METADATA_CHANGES, told.changes)


def report(runs: Iterable[Replayed]) -> str:
    lines = [
        "# Replay of a metadata log into history and changes",
        "",
        f"`python -m tests.bench.replay`: one run on {os.cpu_count()} cores, load "
        f"{os.getloadavg()[1]:.1f} in the last five minutes, {datetime.now(UTC):%Y-%m-%d}. A "
        "cluster of 200,000 partitions that change without end; from bronze.log_records to the "
        "commits of both gold tables. Memory is the highest resident size seen.",
        "",
        "| records | s | records/s | versions | changes | buckets | both tables, MB "
        "| JVM, MB | Python workers, MB | driver, MB | together, MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        memory = run.memory
        sizes = run.size, memory.jvm, memory.workers, memory.driver, memory.together
        shown = " | ".join(f"{size / 1e6:,.0f}" for size in sizes)
        lines.append(
            f"| {run.records:,} | {run.seconds:.1f} | {run.rate:,.0f} | {run.versions:,} "
            f"| {run.changes:,} | {run.buckets} | {shown} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, nargs="+", default=list(_RECORDS))
    parser.add_argument("--write", action="store_true", help="into tests/bench/REPLAY.md")
    options = parser.parse_args()
    for records in options.records:
        segment_of(options.folder, records)
    runs: list[Replayed] = []
    with session() as spark:
        for records in options.records:
            runs.append(replayed(spark, options.folder, records))
            sys.stderr.write(report(runs[-1:]).splitlines()[-1] + "\n")
    text = report(runs)
    if options.write:
        _RESULTS.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
