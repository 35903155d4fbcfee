"""Small tables and rows of the driver, by delta-rs: the same rows as by Spark."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake.exceptions import CommitFailedError
from pyspark.sql import DataFrame, SparkSession

from pipelines import delta
from pipelines.delta import Lake, Written, committing
from pipelines.delta.failures import meaning_of
from pipelines.delta.writing import replace_values
from pipelines.dialects import DATA_FUSION
from pipelines.spark.session import settings
from pipelines.tables.contract import Column, Contract
from replica.errors import BusyError, UnwritableFileError, UsageError
from tests.pipelines.spark_writes import append, last_commit

pytestmark = pytest.mark.spark

EVENTS = Contract(
    name="bronze.events",
    description="Rows of all types that our tables have.",
    columns=(
        Column("id", "bigint", "The row's number.", nullable=False),
        Column("name", "string", "A text, NULL where there is none."),
        Column("at", "timestamp", "When."),
        Column("is_last", "boolean", "Whether it is the last."),
        Column("spans", "array<struct<start:bigint,end:bigint>>", "Ranges."),
        Column("payload", "variant", "JSON."),
        Column("value", "binary", "Bytes."),
    ),
    keys=("id",),
)
ROWS = """
SELECT id, if(id % 3 = 0, NULL, concat('é"\\'', id)) AS name,
       if(id % 4 = 0, NULL, timestamp_micros(id * 86400000001)) AS at, id % 2 = 0 AS is_last,
       if(id % 5 = 0, NULL, array(struct(id AS start, if(id % 2 = 0, NULL, id) AS end))) AS spans,
       if(id % 3 = 1, NULL, parse_json(concat('{"id":', id, '}'))) AS payload,
       if(id % 7 = 0, NULL, encode(string(id), 'utf-8')) AS value
FROM range(0, 50, 1, 3)
"""


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "a lake's")
    delta.ensure_table(lake, EVENTS)
    return lake


def replace(lake: Lake, rows: DataFrame) -> Written:
    """Makes the rows, which another table gets from Spark, the content of the lake's table."""
    other = Lake(Path(tempfile.mkdtemp(dir=Path(lake.root).parent)))
    delta.ensure_table(other, EVENTS)
    append(other, EVENTS, rows)
    version = delta.version(other, EVENTS)
    return replace_values(lake, EVENTS, [delta.rows_where(other, EVENTS, "true", version)])


def texts(rows: DataFrame) -> list[str]:
    return sorted(row[0] for row in rows.selectExpr("to_json(struct(*))").collect())


def test_replace_writes_the_given_rows_and_removes_the_earlier_ones(
    spark: SparkSession, lake: Lake
) -> None:
    rows = spark.sql(ROWS)
    append(lake, EVENTS, rows.where("id < 3"))
    written = replace(lake, rows)
    assert written.rows == 50
    assert texts(delta.read(spark, lake, EVENTS)) == texts(rows)
    commit = last_commit(spark, lake, EVENTS)
    assert commit["version"] == written.version
    assert commit["operationMetrics"]["numOutputRows"] == "50"


@pytest.mark.slow
def test_a_table_that_is_empty_and_stays_so_gets_no_commit(spark: SparkSession, lake: Lake) -> None:
    assert replace(lake, spark.sql(ROWS).where("false")).version is None
    assert delta.version(lake, EVENTS) == 0
    replace(lake, spark.sql(ROWS))
    assert replace(lake, spark.sql(ROWS).where("false")).version == 2
    assert delta.read(spark, lake, EVENTS).isEmpty()


def test_a_table_that_the_lake_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no table bronze\.events"):
        delta.version(Lake(tmp_path), EVENTS)


def values(*ids: int) -> list[dict[str, Any]]:
    at = datetime(2026, 11, 23, 3, tzinfo=UTC)
    return [
        {"id": id_, "name": "n", "at": at, "is_last": None, "spans": [{"start": 1, "end": None}]}
        for id_ in ids
    ]


def test_rows_of_the_driver_are_added_and_found_by_a_condition(
    spark: SparkSession, lake: Lake
) -> None:
    delta.add_values(lake, EVENTS, values(1, 2), ["app"])
    delta.add_values(lake, EVENTS, values(3), ["app"])
    assert delta.add_values(lake, EVENTS, [], ["app"]).version is None
    found = delta.values(lake, EVENTS, ("id", "at", "spans"), f"name = {DATA_FUSION.literal('n')}")
    assert sorted(row["id"] for row in found) == [1, 2, 3]
    assert found[0]["at"] == values(1)[0]["at"]
    assert found[0]["spans"] == values(1)[0]["spans"]
    assert delta.values(lake, EVENTS, ("id",), f"name = {DATA_FUSION.literal(chr(39))}") == []
    assert delta.read(spark, lake, EVENTS).where("spans[0].start = 1").count() == 3


def test_of_two_writers_that_saw_the_same_version_the_second_fails(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = committing.open_conforming

    def opened_before_another_write(*arguments: Any) -> Any:
        table = opened(*arguments)
        monkeypatch.setattr(committing, "open_conforming", opened)
        delta.add_values(lake, EVENTS, values(1), ["app"])
        return table

    monkeypatch.setattr(committing, "open_conforming", opened_before_another_write)
    with pytest.raises(CommitFailedError) as error:
        delta.add_values(lake, EVENTS, values(1), ["app"])
    assert isinstance(meaning_of(str(error.value), lake), BusyError)
    assert len(delta.values(lake, EVENTS, ("id",))) == 1


@pytest.mark.parametrize("applications", [["app"], ["first", "app"], ["app", "last"]])
def test_rows_that_another_writer_may_have_added_since_the_table_was_read_are_not_added(
    applications: list[str], lake: Lake
) -> None:
    seen = delta.version(lake, EVENTS)
    assert delta.values(lake, EVENTS, ("id",)) == []
    delta.add_values(lake, EVENTS, values(1), ["app"])
    with pytest.raises(CommitFailedError):
        delta.add_values(lake, EVENTS, values(1), applications, seen)
    assert len(delta.values(lake, EVENTS, ("id",))) == 1


def test_a_folder_that_cannot_be_written_to_is_named(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lake, "path_of", lambda *_: "/proc/no/such/folder")
    with pytest.raises(UnwritableFileError, match=r"^/proc/no/such/folder: "):
        delta.add_values(lake, EVENTS, values(1))


@pytest.mark.slow
def test_the_columns_with_statistics_are_those_that_spark_chooses(
    spark: SparkSession, lake: Lake
) -> None:
    append(lake, EVENTS, spark.sql(ROWS).coalesce(1))
    replace(lake, spark.sql(ROWS).coalesce(1))
    log = Path(lake.path_of(EVENTS), "_delta_log")
    stats = []
    for name in (f"{1:020d}.json", f"{2:020d}.json"):
        lines = map(json.loads, (log / name).read_text().splitlines())
        (add,) = (line["add"] for line in lines if "add" in line)
        stats.append(json.loads(add["stats"]))
    by_spark, ours = stats
    scalars = {"id", "name", "at"}
    assert set(ours["minValues"]) == scalars & set(by_spark["minValues"])
    for name in scalars:
        assert ours["minValues"][name] == by_spark["minValues"][name]
        assert ours["maxValues"][name] == by_spark["maxValues"][name]
    assert ours["numRecords"] == by_spark["numRecords"] == 50


def test_settings_have_their_earlier_values_after_use(spark: SparkSession) -> None:
    unset, chosen = "spark.sql.autoBroadcastJoinThreshold", "spark.sql.shuffle.partitions"
    before = {name: spark.conf.get(name) for name in (unset, chosen)}
    with settings(spark, {unset: "-1", chosen: "1"}):
        assert (spark.conf.get(unset), spark.conf.get(chosen)) == ("-1", "1")
    assert {name: spark.conf.get(name) for name in (unset, chosen)} == before
