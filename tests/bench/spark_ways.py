"""How fast Spark reads a segment as kraft_log, compared with kafka-dump-log, which only prints it.

All ways read the same segment from a warm page cache, in one warm Spark session on two cores, as
pipelines.spark.session builds it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pipelines.sources import register
from pipelines.spark.session import spark_session
from tests.bench import kafka, report, rounds
from tests.bench.processes import process, timed


def measure(segment: Path, count: int, tell: Callable[[str], None]) -> dict[str, list[float]]:
    """The seconds of kafka-dump-log and of each way with Spark, in `count` interleaved rounds."""
    spark = spark_session("kraftlake bench", extra_conf={"spark.master": "local[2]"})
    register(spark)
    try:
        ways = contenders(spark, segment)
        for name, work in ways.items():
            tell(f"warm up: {name}: {work():.2f} s")
        dump = {report.YARDSTICK: lambda: process(kafka.dump_log_command(segment))}
        return rounds.measure({**dump, **ways}, count, tell)
    finally:
        spark.stop()


def contenders(spark: SparkSession, segment: Path) -> dict[str, rounds.Measure]:
    """The ways. Each way reads and writes everything anew and returns its seconds."""
    return {
        "Delta, Spark's append": lambda: timed(lambda: into_delta(spark, segment)),
        "Spark, noop sink": lambda: timed(
            lambda: rows(spark, segment).write.format("noop").mode("overwrite").save()
        ),
    }


def into_delta(spark: SparkSession, segment: Path) -> None:
    """Writes the records into a new table beside the segment."""
    with tempfile.TemporaryDirectory(dir=segment.parent) as folder:
        rows(spark, segment).write.format("delta").save(f"{folder}/records")


def rows(spark: SparkSession, segment: Path) -> DataFrame:
    """The records of the segment."""
    return spark.read.format("kraft_log").option("keepSecrets", "true").load(str(segment))
