"""The replay of each cluster's agreed branch, once, in parts: Spark's workers take a part each.

pipelines.replay has what a worker does. A part has the records of some keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, groupby

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.cyclic_garbage import no_search_for_cycles
from pipelines.replay.entries import stretches
from pipelines.replay.parts import OF_LOG, OF_PLANNED, OF_TAIL, SOURCE_OF_SNAPSHOT, Part
from pipelines.replay.plan import CONTENT_IDS, PLAN, plan_of
from pipelines.replay.walk import WALKED, walk, walked
from pipelines.silver.replay_plan import plans
from pipelines.silver.stored_records import is_unknown, spread

_RECORDS_OF_PART = 4_000_000
_OWNER = ("cluster_id", "bucket")


def buckets_for(spark: SparkSession, records: int) -> int:
    """The number of parts of each cluster: as many as Spark has partitions after a shuffle, or more
    for a long log, so that the rows that a worker holds and sorts stay bounded. Every part gets all
    topics."""
    return max(
        int(spark.conf.get("spark.sql.shuffle.partitions") or 1), records // _RECORDS_OF_PART
    )


def agreed_replay(
    branch: DataFrame,
    snapshots: DataFrame,
    snapshot_records: DataFrame,
    buckets: int,
    tails: DataFrame | None = None,
) -> DataFrame:
    """The rows of WALKED of all clusters. Persist them, because five tables read them.

    branch: of branch_records; tails: of lost_tails; snapshots, snapshot_records: of bronze.
    buckets: the number of parts of each cluster.

    A record that this release doesn't know counts as a hole in the log, because no state after it
    is complete. No replay begins with a snapshot that holds such a record.
    """
    hidden = is_unknown()
    contents = _contents(snapshots)
    records = _records_of(contents, snapshot_records)
    partial_contents = records.where(hidden).select("content_sha256").distinct()
    partial_contents = partial_contents.withColumn("is_partial", F.lit(True))
    begins = contents.join(F.broadcast(partial_contents), on="content_sha256", how="left")
    begins = begins.withColumn("can_begin", F.col("is_partial").isNull())
    known = branch.where(~hidden)
    plan = plans(branch, known, begins)
    records = records.dropDuplicates([*CONTENT_IDS, "index"])  # of all replicas that have it
    log = known.withColumns({"source": F.lit(OF_LOG), "position": F.col("offset")})
    rows = log.unionByName(_placed(records), allowMissingColumns=True)
    if tails is not None:
        tails = tails.withColumn("source", F.concat(F.lit(OF_TAIL), "tail_id")).drop("tail_id")
        rows = rows.unionByName(tails, allowMissingColumns=True)
    rows = spread(rows, buckets).unionByName(_plan_rows(plan, buckets), allowMissingColumns=True)
    place = F.pmod(F.col("bucket") + F.crc32(F.col("cluster_id").cast("binary")), F.lit(buckets))
    ordered = rows.repartitionById(buckets, place.cast("int")).sortWithinPartitions(
        "cluster_id", "bucket", "position", "source", "offset"
    )
    schema = from_arrow_schema(WALKED, prefer_timestamp_ntz=False)
    return ordered.mapInArrow(partial(_run, buckets=buckets), schema)


def _contents(snapshots: DataFrame) -> DataFrame:
    """CONTENT_IDS and the timestamp of complete snapshots, each content once."""
    latest = F.max("last_contained_log_timestamp").alias("timestamp")
    return snapshots.where("is_whole").groupBy(*CONTENT_IDS).agg(latest)


def _records_of(contents: DataFrame, snapshot_records: DataFrame) -> DataFrame:
    """The records of these contents: of all replicas, once for each snapshot id."""
    ids = F.broadcast(contents.select(*CONTENT_IDS))
    records = snapshot_records.drop("end_offset", "epoch")
    return records.join(ids, on=["cluster_id", "content_sha256"], how="inner")


def _placed(records: DataFrame) -> DataFrame:
    """The records of snapshots as rows of parts."""
    columns = {
        "source": F.format_string(SOURCE_OF_SNAPSHOT, "epoch", "content_sha256"),
        "position": F.col("end_offset"),
        "offset": F.col("index"),
        "leader_epoch": F.col("epoch"),
    }
    return records.withColumns(columns).drop(*CONTENT_IDS[1:], "index")


def _plan_rows(plan: DataFrame, buckets: int) -> DataFrame:
    """For each part of each cluster a row with the plan, which sorts before all other rows."""
    return plan.select(
        "cluster_id",
        F.explode(F.sequence(F.lit(0), F.lit(buckets - 1))).alias("bucket"),
        F.lit(-1).cast("long").alias("position"),
        F.lit(OF_PLANNED).alias("source"),
        F.lit(False).alias("is_control"),
        F.lit(PLAN).alias("record_type"),
        F.col("plan").alias("payload"),
    )


def _run(batches: Iterator[pa.RecordBatch], *, buckets: int) -> Iterator[pa.RecordBatch]:
    with no_search_for_cycles():
        of_parts = chain.from_iterable(stretches(batch, _OWNER) for batch in batches)
        for (cluster_id, bucket), rows in groupby(of_parts, _owner):
            yield from map(walked, walk(_part(cluster_id, bucket, buckets, rows)))


def _owner(rows: pa.RecordBatch) -> tuple[str, int]:
    cluster_id, bucket = (rows.column(name)[0].as_py() for name in _OWNER)
    return cluster_id, bucket


def _part(cluster_id: str, bucket: int, buckets: int, rows: Iterator[pa.RecordBatch]) -> Part:
    """The part of these rows. rows: the row of the plan, then all others."""
    first = next(rows)
    plan = plan_of(first.column("payload")[0].as_py())
    return Part(cluster_id, bucket, buckets, plan, chain((first.slice(1),), rows))
