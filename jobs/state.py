"""`kraftlake state`: a cluster's metadata as it was at an offset or a moment, from a lake.

Also a Spark application with the same options:

    spark-submit jobs/state.py --lake /data/lake --at-offset 1500
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jobs.output import complain, time_text, write_json, write_table
from replica.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipelines.delta import Lake

COLUMNS = ("entity", "key", "value", "offset")


@dataclass(frozen=True)
class Moment:
    """Where in the log: below an offset, or up to and including a time; neither: at its end."""

    at_offset: int | None = None
    at_time: datetime | None = None

    def __post_init__(self) -> None:
        if self.at_offset is not None and self.at_time is not None:
            raise UsageError("--at-offset and --at-time name two moments: give one of them")


def run(
    *,
    lake: str,
    cluster: str | None,
    moment: Moment,
    committed_only: bool = False,
    json_output: bool = False,
) -> int:
    """Print the entities; 0. Raises KraftlakeError."""
    from pipelines.delta import Lake
    from pipelines.session import spark_session

    complain("state: starting Spark")
    spark = spark_session("kraftlake state", lake=lake)
    found = _state(spark, Lake(lake), cluster, moment, committed_only=committed_only)
    rows = ([row[name] for name in COLUMNS] for row in found.toLocalIterator())
    if json_output:
        for row in rows:
            write_json(dict(zip(COLUMNS, row, strict=True)))
    else:
        write_table(COLUMNS, rows)
    return 0


def _state(
    spark: SparkSession, lake: Lake, cluster: str | None, moment: Moment, *, committed_only: bool
) -> DataFrame:
    from pipelines.delta import read
    from pipelines.gold.state import state_at
    from pipelines.silver.branch_records import branch_records
    from pipelines.silver.replay_parts import default_buckets
    from pipelines.tables import bronze, silver

    log = read(spark, lake, silver.COMMITTED_LOG)
    log = log.where(log["cluster_id"] == _cluster(log, cluster))
    if committed_only:
        log = log.where("commitment = 'proven'")
    branch = branch_records(log, read(spark, lake, bronze.LOG_RECORDS)).cache()
    end_offset = _end_offset(branch, moment)
    complain(f"state: at offset {end_offset}")
    found = state_at(
        branch,
        read(spark, lake, bronze.SNAPSHOTS),
        read(spark, lake, bronze.SNAPSHOT_RECORDS),
        end_offset,
        default_buckets(spark),
    ).cache()
    if end_offset and found.isEmpty():
        raise UsageError(
            f"offset {end_offset}: the lake holds neither the whole log below it nor a snapshot to "
            "begin with; ingest a replica or an older capture that does"
        )
    return found.orderBy("entity", "key")


def _cluster(log: DataFrame, wanted: str | None) -> str:
    names = sorted(row.cluster_id for row in log.select("cluster_id").distinct().collect())
    if wanted is not None and wanted not in names:
        raise UsageError(f"--cluster {wanted}: the lake has {', '.join(names) or 'no log'}")
    if wanted is None and len(names) != 1:
        raise UsageError(f"the lake has {len(names)} clusters: --cluster {' or '.join(names)}")
    return names[0] if wanted is None else wanted


def _end_offset(branch: DataFrame, moment: Moment) -> int:
    """The end offset (exclusive) that stands for the moment."""
    from pyspark.sql import functions as F

    upto = F.lit(True) if moment.at_time is None else F.col("timestamp") <= moment.at_time
    limits: Any = branch.agg(
        F.min("offset").alias("first"),
        (F.max("offset") + 1).alias("end"),
        F.min("timestamp").alias("since"),
        (F.max(F.when(upto, F.col("offset"))) + 1).alias("at"),
    ).first()
    if limits.end is None:
        raise UsageError(
            "nothing of this log is proven to be committed: leave --committed-only out"
        )
    if moment.at_offset is not None:
        if moment.at_offset > limits.end:
            raise UsageError(f"--at-offset {moment.at_offset}: the log ends at {limits.end}")
        return moment.at_offset
    if limits.at is None:
        assert moment.at_time is not None
        raise UsageError(
            f"--at-time {time_text(moment.at_time)}: the log begins at {time_text(limits.since)}"
        )
    return int(limits.at)


if __name__ == "__main__":
    from jobs.cli import main

    main(["state", *sys.argv[1:]])
