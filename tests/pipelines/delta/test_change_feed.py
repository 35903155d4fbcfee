"""Tables with a change feed: what is read from it, and when it says nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines import delta
from pipelines.delta import Lake
from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.values import Feed
from pipelines.tables.contract import Column, Contract

pytestmark = pytest.mark.spark

COLUMNS = (
    Column("topic", "string", "The topic.", nullable=False),
    Column("offset", "bigint", "Where, NULL where nowhere."),
    Column("leader", "int", "The leader, NULL where there is none."),
)
LEADERS = Contract(
    name="gold.leaders",
    description="Leaders.",
    columns=COLUMNS,
    keys=("topic", "offset"),
    change_feed=True,
)
PLAIN = Contract(LEADERS.name, LEADERS.description, COLUMNS, LEADERS.keys)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def opened(lake: Lake) -> DeltaTable:
    return DeltaTable(lake.path_of(LEADERS))


def changes(lake: Lake, version: int) -> set[tuple[str, str, int | None, int | None]]:
    batches = opened(lake).load_cdf(starting_version=version, ending_version=version)
    rows = [row for batch in batches for row in pa.record_batch(batch).to_pylist()]
    found = {(row["_change_type"], row["topic"], row["offset"], row["leader"]) for row in rows}
    assert len(found) == len(rows), "a change twice"
    return found


def _files(lake: Lake, *rows: tuple[str, int | None, int | None]) -> list[delta.NewFile]:
    """Data files of these rows in the table's folder, one for each, which no commit names."""
    files = []
    for row in rows:
        columns = dict(zip(LEADERS.column_names, ([value] for value in row), strict=True))
        table = pa.table(columns, LEADERS.arrow_schema)
        file = delta.WriteTarget.of(lake, LEADERS).write(table.to_batches())
        assert file is not None
        files.append(file)
    return files


def test_a_tables_content_is_replaced_by_what_changed_of_it(
    spark: SparkSession, lake: Lake
) -> None:
    delta.ensure_table(lake, LEADERS)
    first = _files(lake, ("kept", 1, None), ("moved", None, 1), ("gone", 3, 1))

    delta.replace_by_files(spark, lake, LEADERS, first)
    version = opened(lake).version()
    assert changes(lake, version) == {
        ("insert", "kept", 1, None),
        ("insert", "moved", None, 1),
        ("insert", "gone", 3, 1),
    }

    again = _files(lake, ("gone", 3, 1), ("moved", None, 1), ("kept", 1, None))
    delta.replace_by_files(spark, lake, LEADERS, again)
    assert opened(lake).version() == version, "a commit in which nothing changed"

    news = _files(lake, ("kept", 1, None), ("moved", None, None), ("new", 1, 2))
    delta.replace_by_files(spark, lake, LEADERS, news)
    assert changes(lake, version + 1) == {
        ("update_preimage", "moved", None, 1),
        ("update_postimage", "moved", None, None),
        ("delete", "gone", 3, 1),
        ("insert", "new", 1, 2),
    }
    feed = ChangeFeed(lake.path_of(LEADERS), Feed(LEADERS, key=("topic",)))
    assert [(c.op, c.row["topic"]) for c in feed.changes(version + 1)] == [
        ("insert", "new"),
        ("delete", "gone"),
        ("update", "moved"),
    ]
    rows = {tuple(row) for row in delta.read(spark, lake, LEADERS).collect()}
    assert rows == {("kept", 1, None), ("moved", None, None), ("new", 1, 2)}


@pytest.mark.slow
def test_files_that_tasks_wrote_become_an_empty_tables_and_later_only_what_they_change(
    spark: SparkSession, lake: Lake
) -> None:
    delta.ensure_table(lake, LEADERS)
    folder = Path(lake.path_of(LEADERS))
    first = _files(lake, ("kept", 1, None), ("gone", 3, 1))
    delta.replace_by_files(spark, lake, LEADERS, first)
    version = opened(lake).version()
    assert changes(lake, version) == {("insert", "kept", 1, None), ("insert", "gone", 3, 1)}
    assert {one.name for one in first} == {path.name for path in folder.glob("*.parquet")}

    news = _files(lake, ("kept", 1, None), ("new", 1, 2))
    delta.replace_by_files(spark, lake, LEADERS, news)
    assert changes(lake, version + 1) == {("delete", "gone", 3, 1), ("insert", "new", 1, 2)}
    assert not any((folder / one.name).exists() for one in news)

    delta.replace_by_files(spark, lake, LEADERS, [])
    assert opened(lake).to_pyarrow_table().num_rows == 0


def test_a_table_of_an_older_release_gets_its_change_feed_and_retention(
    spark: SparkSession, lake: Lake
) -> None:
    delta.ensure_table(lake, PLAIN)
    assert opened(lake).metadata().configuration == {"delta.checkpointInterval": "10"}

    for _ in range(2):
        delta.ensure_table(lake, LEADERS)

    assert opened(lake).metadata().configuration == {
        "delta.checkpointInterval": "10",
        "delta.enableChangeDataFeed": "true",
        "delta.logRetentionDuration": "interval 30 days",
        "delta.deletedFileRetentionDuration": "interval 30 days",
    }
    assert opened(lake).version() == 1, "what is set already was set again"
