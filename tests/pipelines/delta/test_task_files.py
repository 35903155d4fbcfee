"""A table written directly is the table that Spark's own append makes, and behaves like it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from delta.tables import DeltaTable
from deltalake.exceptions import CommitFailedError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import VariantVal

from jobs.cli.asking import sql_delta_rs
from pipelines import delta
from pipelines.delta import Lake, NewFile, PendingAppend, WriteTarget, Written
from pipelines.delta.few_rows import in_types
from pipelines.delta.task_files import Writing
from pipelines.runners.local import LocalRunner
from pipelines.runners.spark import SparkRunner
from pipelines.runners.stage import Grain
from pipelines.tables.contract import Column, Contract
from replica.errors import KraftlakeError, UnreadableFileError, UsageError
from tests.pipelines.spark_writes import append, last_commit

pytestmark = pytest.mark.spark

RECORDS = Contract(
    name="bronze.records",
    description="Records of a log.",
    columns=(
        Column("cluster_id", "string", "The cluster's id."),
        Column("offset", "bigint", "The record's offset.", nullable=False),
        Column("epoch", "int", "The epoch."),
        Column("at", "timestamp", "When."),
        Column("is_control", "boolean", "Who wrote it."),
        Column("payload", "variant", "The record as Kafka's JSON."),
        Column("value", "binary", "Its bytes."),
    ),
    keys=("cluster_id", "offset"),
    change_feed=True,
)
VALUES = {
    "cluster_id": "repeat('é', int(offset % 40))",
    "epoch": "int(-offset)",
    "at": "timestamp_micros(offset * 86400000001)",
    "is_control": "offset % 2 = 0",
    "payload": """parse_json(concat('{"offset":[', offset, '],"t":"x"}'))""",
    "value": "encode(string(offset), 'utf-8')",
}
"""Of a row by its offset, in SQL."""


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "a lake's")  # a blank and a quote, to be harmless everywhere
    delta.ensure_table(lake, RECORDS)
    return lake


def frame(spark: SparkSession, *offsets: int, missing: str = "offset % 3 = 2") -> DataFrame:
    """The rows of offsets; where `missing` holds they have no value that they need not have."""
    some = [f"if({missing}, NULL, {sql}) AS {name}" for name, sql in VALUES.items()]
    numbers = spark.createDataFrame([(offset,) for offset in offsets], "offset bigint")
    return numbers.selectExpr("offset", *some)


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Callable[..., pa.RecordBatch]:
    """The same as Arrow. (pyspark fails at a NULL of a VARIANT there, so they are put in here.)"""

    def make(*offsets: int) -> pa.RecordBatch:
        (batch,) = frame(spark, *offsets, missing="false").toArrow().combine_chunks().to_batches()
        missing = pa.array([offset % 3 == 2 for offset in offsets])
        columns = [
            batch[name] if name == "offset" else pc.if_else(missing, None, batch[name])
            for name in batch.schema.names
        ]
        return pa.RecordBatch.from_arrays(columns, batch.schema.names)

    return make


def write(
    spark: SparkSession,
    lake: Lake,
    *parts: pa.RecordBatch,
    applications: Sequence[str] = (),
    append: PendingAppend | None = None,
) -> Written:
    append = append or PendingAppend.begun(lake, RECORDS)
    one_each = lambda batch, target: target.write([batch])  # noqa: E731 - workers can't import this
    files = append.written_by(SparkRunner.of(spark), writing(one_each), parts)
    return append.commit([file for file in files if file is not None], *applications)


def writing(function: Callable[..., NewFile | None]) -> Writing[Any, NewFile | None]:
    return Writing("write", Grain.FILE_RANGE, function, RECORDS.name)


def contents(spark: SparkSession, lake: Lake) -> list[list[object]]:
    """Every row, its VARIANT as bytes."""
    rows = delta.read(spark, lake, RECORDS).orderBy("offset").collect()
    return [
        [(v.value, v.metadata) if isinstance(v, VariantVal) else v for v in row] for row in rows
    ]


def offsets(lake: Lake) -> list[int]:
    return sorted(row["offset"] for row in delta.values(lake, RECORDS, ("offset",)))


def parquet_files(lake: Lake) -> set[Path]:
    return set(Path(lake.path_of(RECORDS)).glob("*.parquet"))


@pytest.mark.slow
def test_a_direct_write_makes_the_same_table_as_append(
    spark: SparkSession, lake: Lake, tmp_path: Path, rows: Callable[..., pa.RecordBatch]
) -> None:
    parts = [rows(*range(5)), rows(*range(5, 50)), rows(*range(50, 90)).slice(0, 0)]
    written = write(spark, lake, *parts)

    by_spark = Lake(tmp_path / "by spark")
    delta.ensure_table(by_spark, RECORDS)
    append(by_spark, RECORDS, frame(spark, *range(50)))

    found = contents(spark, lake)
    assert len(found) == 50
    assert found == contents(spark, by_spark)
    size = sum(path.stat().st_size for path in parquet_files(lake))
    assert written == Written(version=1, files=2, rows=50, size_bytes=size)
    commit = last_commit(spark, lake, RECORDS)
    assert (commit["operation"], commit["version"]) == ("WRITE", 1)
    counts = {"numFiles": 2, "numOutputRows": 50, "numOutputBytes": size}
    assert counts.items() <= {k: int(v) for k, v in commit["operationMetrics"].items()}.items()


def test_delta_rs_reads_the_same_rows(
    spark: SparkSession, lake: Lake, rows: Callable[..., pa.RecordBatch]
) -> None:
    write(spark, lake, rows(0, 1, 2), rows(3, 4))
    query = 'SELECT "offset", epoch, at, payload FROM bronze.records ORDER BY 1'
    found = [list(row) for row in sql_delta_rs.rows(lake, query)]
    assert [row[:2] for row in found] == [[0, 0], [1, -1], [2, None], [3, -3], [4, -4]]
    assert [row[3] for row in found[:3]] == [
        {"offset": [0], "t": "x"},
        {"offset": [1], "t": "x"},
        None,
    ]
    pruned = 'SELECT count(*) FROM bronze.records WHERE "offset" >= 3'
    assert [list(row) for row in sql_delta_rs.rows(lake, pruned)] == [[2]]


@pytest.mark.slow
def test_bounds_keep_a_query_from_reading_other_files(
    spark: SparkSession, lake: Lake, rows: Callable[..., pa.RecordBatch]
) -> None:
    write(spark, lake, rows(0, 1, 2))
    (early,) = parquet_files(lake)
    write(spark, lake, rows(100, 101))
    early.unlink()  # whoever opens it now fails

    table = delta.read(spark, lake, RECORDS)
    late = "TIMESTAMP '1970-04-01'"
    for condition in ("offset > 2", "epoch < -50", f"at > {late}", "cluster_id >= repeat('é', 20)"):
        assert table.where(condition).select("payload").count() == 1 + (condition == "offset > 2")
    with pytest.raises(Exception, match="part-00000"):
        table.select("payload").collect()


def test_nothing_to_write_commits_nothing(
    spark: SparkSession, lake: Lake, rows: Callable[..., pa.RecordBatch]
) -> None:
    assert write(spark, lake) == Written(None, 0, 0, 0)
    assert write(spark, lake, rows(1).slice(0, 0), applications=["feed"]).version is None
    assert write(spark, lake, rows(1), applications=["feed"]).version == 1
    assert offsets(lake) == [1]


@pytest.mark.slow
def test_spark_reads_a_table_by_the_checkpoint_that_delta_rs_writes(
    spark: SparkSession, lake: Lake, tmp_path: Path, rows: Callable[..., pa.RecordBatch]
) -> None:
    target = WriteTarget.of(lake, RECORDS)
    for number in range(6):
        file = target.write([rows(number)])
        assert file is not None
        PendingAppend.begun(lake, RECORDS).commit([file], "ours")
    for number in range(6, 11):
        one = in_types(pa.Table.from_batches([rows(number)]), RECORDS.arrow_schema)
        delta.merge_values(lake, RECORDS, one, number, columns=("epoch",))
    log = Path(lake.path_of(RECORDS), "_delta_log")
    for commit in range(10):
        (log / f"{commit:020d}.json").unlink()

    by_spark = Lake(tmp_path / "by spark")
    delta.ensure_table(by_spark, RECORDS)
    append(by_spark, RECORDS, frame(spark, *range(11)))
    assert contents(spark, lake) == contents(spark, by_spark)


def test_another_append_meanwhile_is_no_conflict(
    spark: SparkSession, lake: Lake, rows: Callable[..., pa.RecordBatch]
) -> None:
    begun = PendingAppend.begun(lake, RECORDS)
    assert write(spark, lake, rows(1), applications=["other"]).version == 1
    assert write(spark, lake, rows(2), applications=["feed"], append=begun).version == 2
    assert offsets(lake) == [1, 2]


def test_of_one_application_s_appends_that_began_at_once_the_first_is_committed(
    spark: SparkSession, lake: Lake, rows: Callable[..., pa.RecordBatch]
) -> None:
    write(spark, lake, rows(0), applications=["feed"])
    begun = PendingAppend.begun(lake, RECORDS)
    write(spark, lake, rows(1), applications=["feed"])
    with pytest.raises(CommitFailedError):
        write(spark, lake, rows(1), applications=["feed"], append=begun)
    assert offsets(lake) == [0, 1]
    assert write(spark, lake, rows(2), applications=["feed"]).version == 3


@pytest.mark.slow
def test_one_process_writes_the_same_rows_as_tasks(
    spark: SparkSession, lake: Lake, rows: Callable[..., pa.RecordBatch]
) -> None:
    def one_each(batch: pa.RecordBatch, target: WriteTarget) -> NewFile | None:
        return target.write([batch])

    append = PendingAppend.begun(lake, RECORDS)
    files = append.written_by(LocalRunner(), writing(one_each), [rows(0, 1, 2), rows(3)])
    assert append.commit([file for file in files if file is not None]).rows == 4
    here = contents(spark, lake)
    write(spark, lake, rows(0, 1, 2), rows(3))
    assert contents(spark, lake) == sorted([*here, *here], key=lambda row: row[1])


@pytest.mark.slow
def test_a_task_that_fails_leaves_the_table_as_it_was_and_vacuum_cleans_up(
    spark: SparkSession, lake: Lake, rows: Callable[..., pa.RecordBatch]
) -> None:
    write(spark, lake, rows(1))
    kept = parquet_files(lake)
    good = rows(2)

    def batches(number: int) -> Iterable[pa.RecordBatch]:
        yield good
        if number:
            raise UnreadableFileError("x.log", "gone")

    def fails(number: int, target: WriteTarget) -> NewFile | None:
        return target.write(batches(number))

    begun = PendingAppend.begun(lake, RECORDS)
    with pytest.raises(UnreadableFileError, match=r"^x\.log: gone$"):
        begun.written_by(SparkRunner.of(spark), writing(fails), [0, 1])

    assert offsets(lake) == [1]
    assert parquet_files(lake) > kept
    delta.vacuum(spark, lake, RECORDS)
    assert parquet_files(lake) == kept
    assert offsets(lake) == [1]


@pytest.mark.slow
def test_a_vacuum_is_no_more_work_than_the_table_is_large(
    spark: SparkSession, lake: Lake, rows: Callable[..., pa.RecordBatch]
) -> None:
    write(spark, lake, rows(1))
    context = spark.sparkContext
    context.setJobGroup("vacuum", "what Spark's 10,000 tasks for a listing would take")
    try:
        delta.vacuum(spark, lake, RECORDS)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    status = context.statusTracker()
    jobs = [status.getJobInfo(job) for job in status.getJobIdsForGroup("vacuum")]
    stages = [status.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    assert stages
    assert sum(stage.numTasks for stage in stages if stage) < 1000


def test_not_null_holds(
    spark: SparkSession, lake: Lake, rows: Callable[..., pa.RecordBatch]
) -> None:
    batch = rows(1)
    empty = pa.array([None], pa.int64())
    broken = pa.RecordBatch.from_arrays(
        [empty if name == "offset" else batch[name] for name in batch.schema.names],
        batch.schema.names,
    )
    with pytest.raises(Exception, match="column offset has no value in 1 rows"):
        write(spark, lake, broken)
    assert offsets(lake) == []


@pytest.mark.slow
def test_everything_else_works_on_the_table(
    spark: SparkSession, lake: Lake, rows: Callable[..., pa.RecordBatch]
) -> None:
    write(spark, lake, rows(*range(4)), rows(*range(4, 8)))
    before = contents(spark, lake)
    table = DeltaTable.forPath(spark, lake.path_of(RECORDS))

    table.optimize().executeCompaction()
    assert contents(spark, lake) == before

    delta.merge(spark, lake, RECORDS, frame(spark, 7, 8))
    assert offsets(lake) == [*range(9)]
    table.delete("offset < 7")
    assert offsets(lake) == [7, 8]

    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
    changes = feed.load(lake.path_of(RECORDS)).groupBy("_commit_version", "_change_type").count()
    found = {tuple(row) for row in changes.collect()}
    assert found == {(1, "insert", 8), (3, "insert", 1), (4, "delete", 7)}


REFUSED = [
    (
        "ALTER TABLE {} ADD CONSTRAINT positive CHECK (offset > 0)",
        "it has the property 'delta.constraints.positive'",
    ),
    ("ALTER TABLE {} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", "columnMapping"),
    (
        "ALTER TABLE {} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
        "it has the property",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("statement", "reason"), REFUSED)
def test_tables_with_rules_that_no_contract_has_are_refused(
    statement: str,
    reason: str,
    spark: SparkSession,
    lake: Lake,
    rows: Callable[..., pa.RecordBatch],
) -> None:
    spark.sql(statement.format(f"delta.`{lake.path_of(RECORDS)}`"))
    with pytest.raises(KraftlakeError, match=reason):
        write(spark, lake, rows(1))
    assert not parquet_files(lake)


def test_a_folder_without_a_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no Delta table to append to"):
        write(spark, Lake(tmp_path))
