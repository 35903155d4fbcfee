"""`publish` in a session of Spark sends what it sends without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import build, ingest, publish
from jobs.cli.commands.lake import BuildOptions, IngestOptions
from jobs.cli.commands.sharing import PublishOptions
from pipelines.feeds import change_feed
from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.spark_feed import SparkChangeFeed
from pipelines.feeds.values import FEEDS
from pipelines.lake import Lake
from pipelines.tables.gold import METADATA_CHANGES

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def lake(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Built after each of three moments of a cluster, so that its tables have changes."""
    lake = Lake(tmp_path_factory.mktemp("published") / "lake")
    for hour, moment in enumerate(("live", "split", "final")):
        paths = [str(data / "kafka-3.7.2-static" / moment)]
        at = f"2026-11-21T0{hour}:00Z"
        assert ingest.run(IngestOptions(paths, lake, captured_at=at)) == 0
        assert build.run(BuildOptions(lake)) == 0
    return lake


@pytest.mark.parametrize(
    ("table", "slice_rows"),
    [*((one, change_feed.SLICE_ROWS) for one in FEEDS), (METADATA_CHANGES.name, 300)],
)
def test_spark_reads_the_changes_that_delta_rs_reads(
    spark: SparkSession,
    lake: Lake,
    table: str,
    slice_rows: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_feed, "SLICE_ROWS", slice_rows)
    wanted = ChangeFeed(lake.table_uri(table), FEEDS[table])
    found = SparkChangeFeed(spark, lake, FEEDS[table])
    newest = wanted.newest()
    assert found.newest() == newest
    assert [*found.rows(newest)] == [*wanted.rows(newest)] != []
    changes = [[*wanted.changes(version)] for version in range(1, newest + 1)]
    assert [[*found.changes(version)] for version in range(1, newest + 1)] == changes
    assert any(changes)


def test_a_session_publishes_the_files_that_the_command_publishes(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    for session, folder in ((spark, "session"), (None, "command")):
        options = PublishOptions(lake=lake, folder=str(tmp_path / folder), table="gold.findings")
        assert publish.main(session, options) == 0
    first, second = (
        [(file.name, file.read_bytes()) for file in sorted((tmp_path / folder).glob("*.jsonl"))]
        for folder in ("session", "command")
    )
    assert first == second != []
