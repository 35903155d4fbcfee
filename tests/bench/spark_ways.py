"""How fast a segment becomes rows of a Delta table, against kafka-dump-log that only prints it.

All ways read the same segment from a warm page cache, in one warm Spark session on two cores, as
pipelines.spark.session builds it. A way's seconds run from the path of the segment to the end of
the commit into an empty bronze.log_records.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.bronze.log_ranges import log_ranges, log_record_batches
from pipelines.bronze.new_records import decoded_into
from pipelines.delta import Lake, PendingAppend, ensure_table
from pipelines.sources import register
from pipelines.sources.files import log_files
from pipelines.spark.session import spark_session
from pipelines.tables.bronze import LOG_RECORDS
from pipelines.tasks import OnSpark
from replica.model.keys import ReplicaId
from tests.bench import kafka, report, rounds
from tests.bench.processes import process, timed
from tests.pipelines.spark_writes import append

_OWNER = ReplicaId("abcdefghijklmnopqrstuv", 1, "ABCDEFGHIJKLMNOPQRSTUV")


def measure(segment: Path, count: int, tell: Callable[[str], None]) -> dict[str, list[float]]:
    """Seconds of kafka-dump-log and of each way into Spark, in `count` interleaved rounds."""
    with session() as spark:
        ways = contenders(spark, segment)
        for name, work in ways.items():
            tell(f"warm up: {name}: {work():.2f} s")
        dump = {report.YARDSTICK: lambda: process(kafka.dump_log_command(segment))}
        return rounds.measure({**dump, **ways}, count, tell)


@contextmanager
def session() -> Iterator[SparkSession]:
    """What `kraftlake ingest` runs in, on two cores."""
    spark = spark_session("kraftlake bench", extra_conf={"spark.master": "local[2]"})
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
        ensure_table(lake, LOG_RECORDS)
        return timed(lambda: write(spark, lake, segment))


def write_directly(spark: SparkSession, lake: Lake, segment: Path) -> None:
    files = [(file, _OWNER) for file in log_files(str(segment))]
    parts = log_ranges(files, at_once=spark.sparkContext.defaultParallelism)
    begun = PendingAppend.begun(lake, LOG_RECORDS)
    decode = partial(log_record_batches, redactor=None)
    decoded = begun.in_tasks(OnSpark(spark), partial(decoded_into, decode=decode), parts)
    begun.commit([one.file for one in decoded if one.file is not None])


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
