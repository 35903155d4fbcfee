"""Tables with a change feed: what is read from it, and when it says nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipelines import delta
from pipelines.delta import Lake
from pipelines.delta.unit_commits import commit_units
from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.values import Feed
from pipelines.stages.output import Output, Replaced
from pipelines.stages.pins import Pins
from pipelines.tables.contract import Column, Contract

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


def rows_of(*rows: tuple[str, int | None, int | None]) -> pa.Table:
    cells = [dict(zip(LEADERS.column_names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(cells, LEADERS.arrow_schema)


def test_a_reader_of_the_feed_is_told_what_a_build_changed(lake: Lake) -> None:
    delta.ensure_table(lake, LEADERS)
    before = rows_of()
    for build, after in enumerate(
        (
            rows_of(("kept", 1, None), ("moved", None, 1), ("gone", 3, 1)),
            rows_of(("kept", 1, None), ("moved", None, None), ("new", 1, 2)),
        )
    ):
        out = Output(Pins(lake, {}), Replaced(()))
        out.put_changes(LEADERS, before, after)
        commit_units(lake, LEADERS, out.made, build, build)
        before = after
    assert changes(lake, 1) == {
        ("insert", "kept", 1, None),
        ("insert", "moved", None, 1),
        ("insert", "gone", 3, 1),
    }
    assert changes(lake, 2) == {
        ("update_preimage", "moved", None, 1),
        ("update_postimage", "moved", None, None),
        ("delete", "gone", 3, 1),
        ("insert", "new", 1, 2),
    }
    feed = ChangeFeed(lake.path_of(LEADERS), Feed(LEADERS, key=("topic",)))
    assert [(c.op, c.row["topic"]) for c in feed.changes(2)] == [
        ("insert", "new"),
        ("delete", "gone"),
        ("update", "moved"),
    ]


def test_a_table_of_an_older_release_gets_its_change_feed_and_retention(lake: Lake) -> None:
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
