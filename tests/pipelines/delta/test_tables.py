"""Tables are made from contracts, and written and merged with Delta's own guarantees."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines import delta
from pipelines.delta import Lake
from pipelines.tables.contract import Column, Contract
from replica.errors import UsageError
from tests.pipelines.spark_writes import append, last_commit

pytestmark = pytest.mark.spark

RECORDS = Contract(
    name="bronze.records",
    description="Records of a log.",
    columns=(
        Column("cluster_id", "string", "The cluster's id."),
        Column("offset", "bigint", "The record's offset.", nullable=False),
        Column("payload", "variant", "The record as Kafka's JSON."),
        Column("last_seen", "int", "When."),
    ),
    keys=("cluster_id", "offset"),
    change_feed=True,
)
EPOCHS = Contract(
    name="gold.epochs",
    description="Epochs.",
    columns=(Column("epoch", "int", "The epoch."),),
    keys=("epoch",),
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "a lake's")  # a blank and a quote, to be harmless everywhere


def records(spark: SparkSession, offsets: range, seen: int = 1) -> DataFrame:
    """Rows whose payload went through Arrow, as the data sources bring them."""
    table = spark.sql(
        f"""SELECT 'c' AS cluster_id, id AS offset,
            parse_json(concat('{{"offset":', id, '}}')) AS payload, {seen} AS last_seen
            FROM range({offsets.start}, {offsets.stop})"""
    ).toArrow()
    assert isinstance(table, pa.Table)
    return spark.createDataFrame(table)


def contents(spark: SparkSession, lake: Lake) -> dict[int, tuple[object, int]]:
    rows = delta.read(spark, lake, RECORDS).collect()
    found = {row["offset"]: (row["payload"].toPython(), row["last_seen"]) for row in rows}
    assert len(found) == len(rows), "a key twice"
    return found


def test_lake_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Lake("x/").path("bronze", "captures") == f"{tmp_path}/x/bronze/captures"
    assert Lake("s3a://bucket/lake/").path_of(EPOCHS) == "s3a://bucket/lake/gold/epochs"
    assert Lake(tmp_path) == Lake(str(tmp_path) + "/")


def test_ensure_table_makes_what_the_contract_says(spark: SparkSession, lake: Lake) -> None:
    delta.ensure_table(lake, RECORDS)
    delta.ensure_table(lake, RECORDS)  # the second finds it there

    table = DeltaTable.forPath(spark, lake.path_of(RECORDS))
    detail = table.detail().collect()[0]
    assert table.toDF().schema["payload"].metadata == {"comment": "The record as Kafka's JSON."}
    assert detail["description"] == "Records of a log."
    assert detail["properties"]["delta.enableChangeDataFeed"] == "true"
    assert table.history().count() == 1
    assert contents(spark, lake) == {}


def test_ensure_table_refuses_another_release_s_columns(spark: SparkSession, lake: Lake) -> None:
    delta.ensure_table(lake, EPOCHS)
    newer = Contract(
        EPOCHS.name, "Epochs.", (*EPOCHS.columns, Column("leader", "int", "Who.")), EPOCHS.keys
    )
    with pytest.raises(UsageError, match=r"another release.*differ in leader\)"):
        delta.ensure_table(lake, newer)


@pytest.mark.parametrize("collation", ["icu.UNICODE", "unknown.WORDS"])
def test_a_collation_makes_no_other_column(collation: str, lake: Lake) -> None:
    """Spark notes it beside the type, and pyspark can't read the type where it doesn't know it."""
    delta.ensure_table(lake, RECORDS)
    commit = Path(lake.path_of(RECORDS), "_delta_log", f"{0:020d}.json")
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    (metadata,) = (action["metaData"] for action in actions if "metaData" in action)
    schema = json.loads(metadata["schemaString"])
    schema["fields"][0]["metadata"]["__COLLATIONS"] = {"cluster_id": collation}
    metadata["schemaString"] = json.dumps(schema)
    commit.write_text("\n".join(map(json.dumps, actions)))
    delta.ensure_table(lake, RECORDS)


@pytest.mark.slow
def test_rows_are_overwritten_all_or_where_a_condition_holds(
    spark: SparkSession, lake: Lake
) -> None:
    delta.ensure_table(lake, RECORDS)
    append(lake, RECORDS, records(spark, range(3)))
    append(lake, RECORDS, records(spark, range(3, 5)))
    assert contents(spark, lake) == {n: ({"offset": n}, 1) for n in range(5)}

    delta.overwrite(lake, RECORDS, records(spark, range(4, 6), seen=2), replace_where="offset >= 3")
    assert {n: seen for n, (_, seen) in contents(spark, lake).items()} == {
        **dict.fromkeys(range(3), 1),
        **dict.fromkeys(range(4, 6), 2),
    }

    delta.overwrite(lake, RECORDS, records(spark, range(9, 10)))
    assert contents(spark, lake) == {9: ({"offset": 9}, 1)}
    detail = DeltaTable.forPath(spark, lake.path_of(RECORDS)).detail().collect()[0]
    assert detail["description"] == "Records of a log."


def test_not_null_holds(spark: SparkSession, lake: Lake) -> None:
    delta.ensure_table(lake, RECORDS)
    nothing = spark.sql("SELECT 'c' cluster_id, NULL offset, NULL payload, 1 last_seen")
    with pytest.raises(Exception, match="NOT NULL constraint violated"):
        append(lake, RECORDS, nothing)
    assert contents(spark, lake) == {}


def test_merge_inserts_new_rows_with_variant_only_once(spark: SparkSession, lake: Lake) -> None:
    delta.ensure_table(lake, RECORDS)

    delta.merge(spark, lake, RECORDS, records(spark, range(4)))
    delta.merge(spark, lake, RECORDS, records(spark, range(2, 6), seen=2))

    assert contents(spark, lake) == {n: ({"offset": n}, 1 if n < 4 else 2) for n in range(6)}


def test_merge_updates_the_columns_that_it_is_told_in_one_commit(
    spark: SparkSession, lake: Lake
) -> None:
    delta.ensure_table(lake, RECORDS)
    append(lake, RECORDS, records(spark, range(2), seen=5))

    source = records(spark, range(1, 3), seen=3).withColumn("payload", F.parse_json(F.lit("7")))
    delta.merge(spark, lake, RECORDS, source, update=["last_seen"])

    assert contents(spark, lake) == {0: ({"offset": 0}, 5), 1: ({"offset": 1}, 3), 2: (7, 3)}
    commit = last_commit(spark, lake, RECORDS)
    assert (commit["operation"], commit["version"]) == ("MERGE", 2)


@pytest.mark.slow
def test_merge_matches_null_keys(spark: SparkSession, lake: Lake) -> None:
    delta.ensure_table(lake, RECORDS)
    source = records(spark, range(1)).selectExpr(
        "CAST(NULL AS STRING) AS cluster_id", "offset", "payload", "last_seen"
    )
    for _ in range(2):
        delta.merge(spark, lake, RECORDS, source)
    assert delta.read(spark, lake, RECORDS).count() == 1


@pytest.mark.slow
def test_merge_without_insert_only_updates(spark: SparkSession, lake: Lake) -> None:
    delta.ensure_table(lake, RECORDS)
    append(lake, RECORDS, records(spark, range(1)))
    source = records(spark, range(3), seen=8)
    delta.merge(spark, lake, RECORDS, source, update=["last_seen"], insert=False)
    assert contents(spark, lake) == {0: ({"offset": 0}, 8)}


@pytest.mark.slow
def test_register_makes_names_resolve_per_lake(spark: SparkSession, tmp_path: Path) -> None:
    here, there = Lake(tmp_path / "it's here"), Lake(tmp_path / "there")
    delta.ensure_table(here, RECORDS)
    append(here, RECORDS, records(spark, range(3)))
    delta.ensure_table(here, EPOCHS)
    delta.ensure_table(there, RECORDS)

    assert delta.register(spark, here, (RECORDS, EPOCHS)) == ("bronze.records", "gold.epochs")
    query = "SELECT sum(payload:offset::int) AS total FROM bronze.records"
    assert spark.sql(query).collect()[0]["total"] == 3

    assert delta.register(spark, there, (RECORDS, EPOCHS)) == ("bronze.records",)
    assert spark.sql(query).collect()[0]["total"] is None
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM gold.epochs")
    assert sorted(contents(spark, here)) == [0, 1, 2], "registering removed another lake's data"


def test_reading_a_table_that_is_not_there(spark: SparkSession, lake: Lake) -> None:
    with pytest.raises(UsageError, match=r"has no table gold\.epochs: run"):
        delta.read(spark, lake, EPOCHS)
    assert not Path(lake.root).exists()
