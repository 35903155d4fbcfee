"""The agreed branch of each cluster replayed once, in parts by key, a part by a worker of Spark.

See pipelines.replay for what a worker does.
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
    """As many parts as Spark has partitions behind a shuffle; more of them for a long log, so that
    what a worker holds and sorts stays bounded. Each part is given every topic."""
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
    """WALKED; to be persisted, as five tables read it.

    branch: from branch_records; tails: from lost_tails; the others bronze's; buckets: parts of
    each cluster.

    A record that this release doesn't know is a hole in the log, as behind it no state is the whole
    truth; and no replay begins with a snapshot that holds such a record.
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
    """CONTENT_IDS and timestamp of whole snapshots, each once."""
    latest = F.max("last_contained_log_timestamp").alias("timestamp")
    return snapshots.where("is_whole").groupBy(*CONTENT_IDS).agg(latest)


def _records_of(contents: DataFrame, snapshot_records: DataFrame) -> DataFrame:
    """The records of these contents, of every replica and for each id."""
    ids = F.broadcast(contents.select(*CONTENT_IDS))
    records = snapshot_records.drop("end_offset", "epoch")
    return records.join(ids, on=["cluster_id", "content_sha256"], how="inner")


def _placed(records: DataFrame) -> DataFrame:
    """Records of snapshots as rows of parts."""
    columns = {
        "source": F.format_string(SOURCE_OF_SNAPSHOT, "epoch", "content_sha256"),
        "position": F.col("end_offset"),
        "offset": F.col("index"),
        "leader_epoch": F.col("epoch"),
    }
    return records.withColumns(columns).drop(*CONTENT_IDS[1:], "index")


def _plan_rows(plan: DataFrame, buckets: int) -> DataFrame:
    """A row before all others for each part of each cluster."""
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
    """rows: the plan's, which is the first, and all others."""
    first = next(rows)
    plan = plan_of(first.column("payload")[0].as_py())
    return Part(cluster_id, bucket, buckets, plan, chain((first.slice(1),), rows))
