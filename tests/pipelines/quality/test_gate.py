"""The gate in a real lake: what warn, quarantine and stop do with rows that are really bad."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.cli.main import app
from jobs.cli.outcome import run as run_command
from pipelines.delta import Lake, exists, read
from pipelines.quality.gate import Gate, judged_rows
from pipelines.quality.results import PAGES
from pipelines.quality.suites import SUITES
from pipelines.quality.validation import Validation
from pipelines.tables import bronze, silver
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD, QUALITY_RESULTS, QUARANTINED_ROWS
from tests.pipelines.quality.broken_rows import GOOD
from tests.pipelines.quorums import frame
from tests.pipelines.spark_writes import append

pytestmark = pytest.mark.spark

_SPOILT = (bronze.DAMAGE, bronze.LOG_BATCHES, bronze.LOG_RECORDS)
_TABLES = (*bronze.BRONZE, *silver.SILVER, *GOLD)


@pytest.fixture
def lake(recorded_lake: Path, tmp_path: Path) -> Lake:
    """Bronze of the recorded clusters, for the test's own."""
    return Lake(shutil.copytree(recorded_lake, tmp_path / "lake"))


def _results(lake: str) -> list[dict[str, object]]:
    path = f"{lake}/{QUALITY_RESULTS.name.replace('.', '/')}"
    rows: list[dict[str, object]] = DeltaTable(path).to_pyarrow_table().to_pylist()
    return rows


def test_the_recorded_clusters_hold_to_every_expectation(built_lake: Path) -> None:
    rows = _results(str(built_lake))
    assert [(row["table_name"], row["meaning"]) for row in rows if not row["success"]] == []
    told = {(row["table_name"], row["meaning"]) for row in rows}
    assert told == {
        (name, one.meaning)
        for name in (table.name for table in _TABLES)
        for one in SUITES[name].expectations
    }
    evaluated = {row["table_name"]: row["evaluated_rows"] for row in rows}
    assert evaluated["bronze.log_records"] == 27420
    assert evaluated["silver.committed_log"] == 5599
    assert not (built_lake / QUARANTINED_ROWS.name.replace(".", "/")).exists()


def test_each_judged_table_has_a_page(built_lake: Path) -> None:
    pages = {page.stem for page in (built_lake / PAGES).glob("*.html")}
    assert pages == {"index", *(table.name for table in _TABLES)}
    page = (built_lake / PAGES / "silver.committed_log.html").read_text(encoding="utf-8")
    assert "epochs never go back along the branch" in page


@pytest.mark.slow  # 25 s; test_both_gates holds Spark's gate to the one of test_small_gate
def test_each_action_follows_from_rows_that_are_bad(spark: SparkSession, lake: Lake) -> None:
    """Warned of: a damage of no known kind. Left out: a batch that ends before it begins, and with
    it its records, and a record of no batch."""
    batch = read(spark, lake, bronze.LOG_BATCHES).where("NOT is_control AND record_count > 1")
    batch = batch.orderBy(*bronze.BATCH_KEYS).limit(1)
    record = read(spark, lake, bronze.LOG_RECORDS).orderBy(*bronze.LOG_RECORDS.keys).limit(1)
    append(lake, bronze.DAMAGE, frame(spark, bronze.DAMAGE, [_damage("gremlins")]))
    append(lake, bronze.LOG_BATCHES, _changed(batch, crc=1, last_offset=-1))
    append(lake, bronze.LOG_RECORDS, _changed(record, crc=1, payload=None))
    before = read(spark, lake, bronze.LOG_RECORDS).count()
    lines: list[str] = []
    with Gate(spark, lake, lines.append, "run-1") as gate:
        admitted = gate.admit(_SPOILT)
        assert admitted[bronze.LOG_BATCHES].where("crc = 1").isEmpty()
        assert admitted[bronze.LOG_RECORDS].count() == before - 1
        assert admitted[bronze.DAMAGE].count() == 1  # only warned of
        assert admitted[bronze.LOG_RECORDS].columns == list(bronze.LOG_RECORDS.column_names)
    assert read(spark, lake, bronze.LOG_RECORDS).count() == before, "bronze stays as it is"
    left_out = read(spark, lake, QUARANTINED_ROWS).orderBy("table_name").collect()
    assert [(row.table_name, row.run_id) for row in left_out] == [
        ("bronze.log_batches", "run-1"),
        ("bronze.log_records", "run-1"),
    ]
    assert '"last_offset":-1' in left_out[0].content
    assert "from 0 on" in left_out[0].reason
    assert "lies within its batch" in left_out[1].reason
    told = {(row["table_name"], row["action"]) for row in _results(lake.root) if not row["success"]}
    assert {
        ("bronze.damage", "warn"),
        ("bronze.log_batches", "quarantine"),
        ("bronze.log_records", "quarantine"),
    } <= told
    (damage,) = (line for line in lines if line.startswith("bronze.damage"))
    assert damage.startswith("bronze.damage: 1 of 1 rows break 'kind is one of its known values'")
    assert '"kind": "gremlins"' in damage
    page = (Path(lake.root) / PAGES / "bronze.log_batches.html").read_text(encoding="utf-8")
    assert "its last one not below its first" in page
    _mend(spark, lake)
    with Gate(spark, lake, lines.append, "run-2") as gate:
        gate.admit(_SPOILT)
    assert read(spark, lake, QUARANTINED_ROWS).isEmpty(), "what is whole again is not left out"


def _mend(spark: SparkSession, lake: Lake) -> None:
    for contract in (bronze.LOG_BATCHES, bronze.LOG_RECORDS):
        spark.sql(f"DELETE FROM delta.`{lake.path_of(contract)}` WHERE crc = 1")


def test_a_key_that_is_there_twice_ends_the_build_before_anything_is_derived(
    spark: SparkSession, lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = read(spark, lake, bronze.SNAPSHOTS).orderBy(*bronze.SNAPSHOT_KEYS).limit(1)
    append(lake, bronze.SNAPSHOTS, twice.localCheckpoint())
    capsys.readouterr()
    assert run_command(app, ["build", "--lake", lake.root]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(
        f"kraftlake: error: {lake.root}/bronze/snapshots: 2 of 16 rows break 'keys are unique' "
        '(stop), such as {"cluster_id": "'
    )
    assert error.endswith("Nothing was derived from it; gold.quality_results has all")
    assert not exists(lake, silver.LEADER_EPOCHS)
    stopped = [row for row in _results(lake.root) if not row["success"]]
    assert [(row["meaning"], row["unexpected_rows"]) for row in stopped] == [("keys are unique", 2)]


@pytest.mark.parametrize(
    ("contract", "change", "broken"),
    [
        (bronze.CAPTURES, lambda rows: rows.limit(0), {"the table has 1 rows or more"}),
        (
            bronze.DAMAGE,
            lambda rows: rows.withColumns({"kind": F.lit("x"), "length": F.lit(-1).cast("long")}),
            {"kind is one of its known values", "length is 0 or more"},
        ),
        (
            silver.COMMITTED_LOG,
            lambda rows: rows.where("`offset` <> 1").withColumn("leader_epoch", -F.col("offset")),
            {
                "an offset and an epoch are from 0 on",
                "the branch has no gap",
                "epochs never go back along the branch",
            },
        ),
    ],
)
def test_great_expectations_says_what_is_broken_and_by_how_many_rows(
    spark: SparkSession,
    contract: Contract,
    change: Callable[[DataFrame], DataFrame],
    broken: set[str],
) -> None:
    suite = SUITES[contract.name]
    example = GOOD[contract.name]
    rows = change(frame(spark, contract, example.rows)).select(
        *(f"`{name}`" for name in contract.column_names)
    )
    tables = {contract.table_name: rows}
    if suite.joined is not None:
        other = suite.joined.contract
        tables[other.table_name] = frame(spark, other, example.other)
    kept = _kept(spark)
    judged = Validation().judge(suite, judged_rows(spark, suite, tables), 0, rows.count())
    # what other tests kept may go meanwhile, when its DataFrame is collected
    assert _kept(spark) <= kept, "no copy of a table is left in memory"
    assert {one.expectation.meaning for one in judged.verdicts if not one.success} == broken
    for one in judged.verdicts:
        assert one.evaluated_rows == rows.count()
        if not one.success and one.expectation.columns:
            assert one.unexpected_rows == len(one.sample) == 1


def _kept(spark: SparkSession) -> int:
    """Datasets that Spark holds in memory."""
    context = spark.sparkContext._jsc
    assert context is not None
    return int(context.getPersistentRDDs().size())


def _damage(kind: str) -> dict[str, object]:
    return {**GOOD["bronze.damage"].rows[0], "kind": kind}


def _changed(rows: DataFrame, **values: object) -> DataFrame:
    cells = {name: F.lit(value).cast(rows.schema[name].dataType) for name, value in values.items()}
    return rows.withColumns(cells).localCheckpoint()
