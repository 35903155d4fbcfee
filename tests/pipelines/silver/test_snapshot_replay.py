"""Snapshots that Kafka wrote, beside the replay of the recorded logs on Spark.

The slow tests hold Spark's plan to what tests/pipelines/in_memory/test_replay.py holds without
Spark: both call the same functions of pipelines/replay. .ci/run runs them behind `make test`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from pipelines.delta import Lake, read
from pipelines.replay.compared import SNAPSHOT_IDS
from pipelines.replay.folded import folded
from pipelines.silver.agreed_replay import agreed_replay
from pipelines.silver.branch_records import branch_records
from pipelines.tables import bronze, silver
from replica.metadata.record import new_record
from replica.metadata.writer import encode
from tests.pipelines.in_memory.looks import as_spark

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(spark: SparkSession, built_lake: Path) -> dict[str, DataFrame]:
    lake = Lake(built_lake)
    branch = branch_records(
        read(spark, lake, silver.COMMITTED_LOG), read(spark, lake, bronze.LOG_RECORDS)
    )
    return {
        "branch": branch,
        "snapshots": read(spark, lake, bronze.SNAPSHOTS),
        "snapshot_records": read(spark, lake, bronze.SNAPSHOT_RECORDS),
    }


def _rows(tables: dict[str, DataFrame], buckets: int = 3) -> list[Row]:
    """REPLAYED of the snapshots that a replay reaches, of all parts together."""
    written = agreed_replay(**tables, buckets=buckets).where("what = 'compared'")
    parts = written.select("cluster_id", "compared.*").toArrow().to_pylist()
    beside_log = [
        row
        for row in folded(parts)
        if row["content_sha256"] is not None and row["against_sha256"] is None
    ]
    beside_log.sort(key=lambda row: [row[name] for name in SNAPSHOT_IDS])
    return [as_spark(row) for row in beside_log]


@pytest.fixture(scope="module")
def recorded(tables: dict[str, DataFrame]) -> list[Row]:
    return _rows(tables)


def test_every_whole_snapshot_is_reached_and_none_differs(
    tables: dict[str, DataFrame], recorded: list[Row]
) -> None:
    whole = tables["snapshots"].where("is_whole AND end_offset > 0")
    expected = whole.select("cluster_id", "end_offset", "epoch", "content_sha256").distinct()
    assert len(recorded) == expected.count() == 11
    assert {(row.different, row.base_offset) for row in recorded} == {(0, 0)}


def test_orphan_topic_configs_are_counted_and_no_difference(recorded: list[Row]) -> None:
    orphans = {
        (row.cluster_id, row.end_offset, row.epoch): row.orphans for row in recorded if row.orphans
    }
    assert orphans == {(DYNAMIC, 1496, 5): 8, (DYNAMIC, 2571, 6): 12, (DYNAMIC, 2598, 6): 12}


@pytest.mark.slow
def test_the_number_of_parts_changes_nothing(
    tables: dict[str, DataFrame], recorded: list[Row]
) -> None:
    assert _rows(tables, buckets=1) == _rows(tables, buckets=7) == recorded


@pytest.mark.slow
def test_a_log_without_its_head_starts_at_a_snapshot(tables: dict[str, DataFrame]) -> None:
    headless = {**tables, "branch": tables["branch"].where("offset >= 300")}
    rows = _rows(headless)
    assert rows
    assert {row.different for row in rows} == {0}
    assert all(300 <= row.base_offset < row.end_offset for row in rows)


@pytest.mark.slow
def test_a_record_that_the_log_lacks_is_a_difference_with_both_values(
    tables: dict[str, DataFrame],
) -> None:
    a_topic = tables["branch"].where("record_type = 'TOPIC_RECORD'").orderBy("offset").first()
    assert a_topic is not None
    is_it = (F.col("cluster_id") == a_topic.cluster_id) & (F.col("offset") == a_topic.offset)
    no_op = F.lit(encode(new_record("NO_OP_RECORD", 0, {})))
    emptied = F.when(is_it, no_op).otherwise(F.col("value"))
    made = F.when(is_it, F.lit("NO_OP_RECORD")).otherwise(F.col("record_type"))
    changed = tables["branch"].withColumns({"value": emptied, "record_type": made})
    rows = _rows({**tables, "branch": changed})
    broken = [row for row in rows if row.different]
    assert {row.cluster_id for row in broken} == {a_topic.cluster_id}
    assert all(row.end_offset > a_topic.offset for row in broken)
    kinds = {sample.entity for row in broken for sample in row.sample}
    assert kinds == {"topic", "partition"}
    assert all(sample.in_log is None for row in broken for sample in row.sample)


@pytest.mark.slow
@pytest.mark.parametrize("is_redacted", [False, True])
def test_behind_an_unknown_record_nothing_is_compared_until_a_replay_begins_again(
    tables: dict[str, DataFrame], recorded: list[Row], is_redacted: bool
) -> None:
    """Snapshots of 3.7.2 end at 519, 531 and 1913; the record at 525 becomes one of api key 99."""
    is_it = (F.col("cluster_id") == STATIC) & (F.col("offset") == 525)
    value = F.lit(None) if is_redacted else F.lit(bytes([1, 99, 0, 1, 2]))
    plain = F.parse_json(F.lit('{"apiKey":99,"version":0,"body":"***:0123456789abcdef"}'))
    made = {"value": value, "payload": plain, "record_type": F.lit("UNKNOWN_RECORD")}
    columns = {name: F.when(is_it, new).otherwise(F.col(name)) for name, new in made.items()}
    changed = tables["branch"].withColumns(columns)
    after = _rows({**tables, "branch": changed})
    found = [row for row in after if row.cluster_id == STATIC]
    assert {(row.base_offset, row.end_offset) for row in found} == {(0, 519), (531, 1913)}
    assert {row.different for row in found} == {0}
    others = [row for row in recorded if row.cluster_id == DYNAMIC]
    assert [row for row in after if row.cluster_id == DYNAMIC] == others


@pytest.mark.slow
def test_a_snapshot_that_is_not_whole_is_neither_compared_nor_a_beginning(
    tables: dict[str, DataFrame],
) -> None:
    """Without the whole one at 519, the log from 300 on is replayed from 531 only."""
    is_broken = (F.col("cluster_id") == STATIC) & (F.col("end_offset") == 519)
    is_whole = F.when(is_broken, F.lit(False)).otherwise(F.col("is_whole"))
    broken = tables["snapshots"].withColumn("is_whole", is_whole)
    headless = tables["branch"].where("offset >= 300")
    rows = _rows({**tables, "branch": headless, "snapshots": broken})
    found = [row for row in rows if row.cluster_id == STATIC]
    assert {(row.base_offset, row.end_offset, row.different) for row in found} == {(531, 1913, 0)}
