"""The replay in this process and that on Spark give equal rows, also of a log with holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pipelines.clusters.computing import bronze_rows
from pipelines.in_memory.branch import branch_records, lost_tails
from pipelines.in_memory.derived import Silver
from pipelines.in_memory.replay import replayed as replayed_here
from pipelines.in_memory.rows import Row
from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_versions
from pipelines.quality.admitted import Admitted
from pipelines.replay.compared import REPLAYED
from pipelines.replay.written import WRITTEN
from pipelines.silver.agreed_replay import agreed_replay
from pipelines.tables import bronze
from replica.metadata.record import UnknownRecord
from tests.pipelines.in_memory.record_rows import content

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"
REDACTED = content(UnknownRecord(99, 0, b"\x01"), is_redacted=True)

_BRANCH = ("cluster_id", "offset", "leader_epoch", "crc")
_TAIL = {"position": "long", "tail_id": "string", "commitment": "string"}

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_log_without_its_head_with_holes_and_unknown_records_is_replayed_alike(
    spark: SparkSession, built_lake: Path
) -> None:
    tables = (
        *(bronze.CAPTURES, bronze.LOG_BATCHES, bronze.LOG_RECORDS, bronze.SNAPSHOTS),
        *(bronze.SNAPSHOT_RECORDS, bronze.REPLICA_STATE, bronze.FINDINGS),
    )
    versions = newest_versions(Lake(built_lake), (one.name for one in tables))
    held = Admitted(Lake(built_lake), versions)
    content = [held.rows_of(one) for one in tables]
    branch, tails, snapshots, snapshot_records = [], [], [], []
    for cluster_id in (DYNAMIC, STATIC):
        of = Silver(cluster_id, bronze_rows(cluster_id, content))
        branch += _with_holes(branch_records(of.committed, of.bronze.records))
        tails += lost_tails(of.held, of.committed, of.bronze.records)
        snapshots += _with_a_broken_one(of.bronze.snapshots)
        snapshot_records += of.bronze.snapshot_records
    assert len(tails) == 44
    inputs = (
        _frame(spark, branch, _record_types({"commitment": "string"}, _BRANCH)),
        _frame(spark, snapshots, bronze.SNAPSHOTS.schema),
        _frame(spark, snapshot_records, bronze.SNAPSHOT_RECORDS.schema),
    )
    tail_rows = _frame(spark, tails, _record_types(_TAIL, bronze.LOG_RECORDS.keys))
    for buckets in (1, 3):
        on_spark = agreed_replay(*inputs, buckets, tail_rows).where("what <> 'compared'")
        here = replayed_here(branch, snapshots, snapshot_records, tails).written
        assert _counted(here) == _counted(_collected(on_spark.drop("compared"), WRITTEN))
        assert here.num_rows > 5000
    compared = replayed_here(branch, snapshots, snapshot_records).compared
    here = pa.Table.from_pylist(compared, REPLAYED)
    on_spark = agreed_replay(*inputs, 1).where("what = 'compared'")
    on_spark = on_spark.select("cluster_id", "compared.*")
    assert _counted(here) == _counted(_collected(on_spark, REPLAYED))
    assert {row["base_offset"] for row in here.to_pylist()} >= {531, 792}


def _with_holes(branch: Iterable[Row]) -> list[Row]:
    """From 300 on; of one cluster 600 to 620 are gone, of the other the record at 525 is redacted
    and of a type that nobody knows."""
    kept = [
        row
        for row in branch
        if row["offset"] >= 300
        and not (row["cluster_id"] == DYNAMIC and 600 <= row["offset"] <= 620)
    ]
    return [
        row | REDACTED if (row["cluster_id"], row["offset"]) == (STATIC, 525) else row
        for row in kept
    ]


def _with_a_broken_one(snapshots: Iterable[Row]) -> list[Row]:
    """The snapshot of one cluster at 519 is not whole."""
    return [
        row | {"is_whole": False}
        if (row["cluster_id"], row["end_offset"]) == (STATIC, 519)
        else row
        for row in snapshots
    ]


def _record_types(others: dict[str, str], keys: Iterable[str]) -> StructType:
    """The columns of bronze.log_records with these keys, and others."""
    content_names = ("timestamp", "is_control", "record_type", "record_version", "payload", "value")
    held = bronze.LOG_RECORDS.schema
    schema = StructType([held[name] for name in (*keys, *content_names)])
    for name, kind in others.items():
        schema = schema.add(name, kind)
    return schema


def _frame(spark: SparkSession, rows: Iterable[Row], schema: StructType) -> DataFrame:
    arrow = to_arrow_schema(schema, timezone="UTC")
    return spark.createDataFrame(pa.Table.from_pylist(list(rows), schema=arrow), schema)


def _collected(rows: DataFrame, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([row.asDict(recursive=True) for row in rows.collect()], schema)


def _counted(rows: pa.Table) -> Counter[str]:
    return Counter(map(str, rows.to_pylist()))
