"""How fast a segment becomes rows of a Delta table, against kafka-dump-log that only prints it.

    python -m tests.bench.lake [--rounds 5] [--bytes 300000000]

All ways read the same generated segment (tests.bench.segments) from a warm page cache, in turn, in
one warm Spark session on two cores, as pipelines.session builds it. A way's seconds run from the
path of the segment to the end of the commit into an empty bronze.log_records.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.bronze.log_ranges import log_ranges, log_record_batches
from pipelines.delta import Lake, append, append_directly, ensure_table
from pipelines.session import spark_session
from pipelines.sources import register
from pipelines.sources.files import log_files
from pipelines.tables.bronze import LOG_RECORDS
from replica.types import ReplicaId
from tests.bench import kafka, rounds
from tests.bench.segments import write_segment

YARDSTICK = "kafka-dump-log"
_OWNER = ReplicaId("abcdefghijklmnopqrstuv", 1, "ABCDEFGHIJKLMNOPQRSTUV")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=300_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kraftlake-bench-") as folder:
        segment = Path(folder) / f"{0:020d}.log"
        records = write_segment(segment, options.bytes)
        seconds = measure(segment, options.rounds, tell)
    sys.stdout.write(table(seconds, records))


def tell(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")


def measure(segment: Path, count: int, tell: Callable[[str], None]) -> dict[str, list[float]]:
    """Seconds of kafka-dump-log and of each way into Spark, in `count` interleaved rounds."""
    with session() as spark:
        ways = contenders(spark, segment)
        for name, work in ways.items():
            tell(f"warm up: {name}: {work():.2f} s")
        dump = {YARDSTICK: lambda: dump_log(segment)}
        return rounds.measure({**dump, **ways}, count, tell)


@contextmanager
def session() -> Iterator[SparkSession]:
    """What `kraftlake ingest` runs in, on two cores."""
    spark = spark_session("kraftlake bench", master="local[2]")
    register(spark)
    try:
        yield spark
    finally:
        spark.stop()


def contenders(spark: SparkSession, segment: Path) -> dict[str, rounds.Measure]:
    """The ways, each of which reads and writes everything anew and returns its seconds."""
    return {
        "Delta, files by the tasks": lambda: into_lake(spark, segment, write_directly),
        "Delta, Spark's append": lambda: into_lake(spark, segment, write_by_spark),
        "Spark, noop sink": lambda: timed(
            lambda: rows(spark, segment).write.format("noop").mode("overwrite").save()
        ),
    }


def into_lake(
    spark: SparkSession, segment: Path, write: Callable[[SparkSession, Lake, Path], None]
) -> float:
    """Seconds of one write into a new table beside the segment."""
    with tempfile.TemporaryDirectory(dir=segment.parent) as folder:
        lake = Lake(folder)
        ensure_table(spark, lake, LOG_RECORDS)
        return timed(lambda: write(spark, lake, segment))


def write_directly(spark: SparkSession, lake: Lake, segment: Path) -> None:
    files = [(file, _OWNER) for file in log_files(str(segment))]
    parts = log_ranges(files, at_once=spark.sparkContext.defaultParallelism)
    batches = partial(log_record_batches, key=None)
    append_directly(spark, lake, LOG_RECORDS, parts, batches)


def write_by_spark(spark: SparkSession, lake: Lake, segment: Path) -> None:
    append(lake, LOG_RECORDS, rows(spark, segment))


def rows(spark: SparkSession, segment: Path) -> DataFrame:
    frame = spark.read.format("kraft_log").option("keepSecrets", "true").load(str(segment))
    owner = {
        "cluster_id": _OWNER.cluster_id,
        "node_id": _OWNER.node_id,
        "directory_id": _OWNER.directory_id,
    }
    return frame.withColumns({name: F.lit(value) for name, value in owner.items()})


def dump_log(segment: Path) -> float:
    """Seconds of kafka-dump-log, its output thrown away."""
    command = kafka.dump_log_command(segment)
    return timed(
        lambda: subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    )


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def table(seconds: Mapping[str, list[float]], records: int) -> str:
    """Markdown: seconds, and how many times faster than the yardstick in the same round."""
    lines = [
        "| what | s (median) | M records/s | ratio: least | median | most |",
        "|---|---|---|---|---|---|",
    ]
    for name, values in seconds.items():
        ratio = rounds.ratios(seconds[YARDSTICK], values)
        median = rounds.Spread.of(values).median
        lines.append(
            f"| {name} | {median:.2f} | {records / median / 1e6:.2f} "
            f"| {ratio.least:.1f} | {ratio.median:.1f} | {ratio.most:.1f} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
