"""A table's changes come in order, once each, whatever commits brought them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.feeds import change_feed
from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.values import FEEDS
from replica.errors import UsageError
from tests.pipelines.feeds.feed_table import CHANGES, FINDINGS, FeedTable, change, finding


@pytest.fixture
def changes(tmp_path: Path) -> FeedTable:
    return FeedTable(tmp_path, CHANGES)


def test_changes_of_a_version_are_sorted_by_offset_and_key(changes: FeedTable) -> None:
    version = changes.replace([change(9), change(2, key="b"), change(2, key="a"), change(5)])

    found = list(changes.opened().changes(version))

    assert [(c.row["offset"], c.row["key"]) for c in found] == [
        (2, "a"),
        (2, "b"),
        (5, "topic:2"),
        (9, "topic:0"),
    ]
    assert [(c.op, c.version, c.ordinal) for c in found] == [
        ("insert", version, n) for n in range(4)
    ]
    assert found[0].before is None
    assert found[2].after == change(5, at=1_795_231_279_241), "a time is in ms"
    committed_at = DeltaTable(changes.path).history(1)[0]["timestamp"]
    assert found[0].committed_at == committed_at


def test_a_change_has_the_row_before_and_after(changes: FeedTable) -> None:
    unproven = change(1, commitment="unproven")
    changes.replace([unproven, change(2), change(3)])
    version = changes.replace([change(1), change(3), change(4)])

    found = list(changes.opened().changes(version))

    assert [c.op for c in found] == ["update", "delete", "insert"]
    assert found[0].before == {**unproven, "at": 1_795_231_275_241}
    assert found[0].after == change(1, at=1_795_231_275_241)
    assert (found[1].after, found[1].row["offset"]) == (None, 2)


def test_a_commit_that_rewrites_all_files_says_only_what_changed(changes: FeedTable) -> None:
    changes.replace([change(1), change(2)])
    version = changes.overwrite([change(1), change(2, new=None), change(3)])
    feed = changes.opened()
    assert [(c.op, c.row["offset"]) for c in feed.changes(version)] == [
        ("update", 2),
        ("insert", 3),
    ]

    changes.overwrite([change(3), change(2, new=None), change(1)])
    assert list(feed.changes(feed.newest())) == []
    DeltaTable(changes.path).optimize.compact()
    assert list(feed.changes(feed.newest())) == []


def test_findings_without_an_offset_come_last(tmp_path: Path) -> None:
    table = FeedTable(tmp_path, FINDINGS)
    version = table.replace([finding("x", offset=None), finding("y", offset=3)])
    feed = table.opened()
    assert [row["message"] for row in feed.rows(version)] == ["y", "x"]
    assert [c.row["message"] for c in feed.changes(version)] == ["y", "x"]


@given(
    offsets=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=20),
    rows=st.integers(1, 6),
)
@settings(max_examples=10)
def test_a_version_read_in_slices_is_the_same(
    offsets: list[int | None], rows: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = FeedTable(tmp_path_factory.mktemp("slices"), FINDINGS)
    version = table.replace(finding(str(n), offset=offset) for n, offset in enumerate(offsets))
    feed = table.opened()
    whole = list(feed.changes(version)), list(feed.snapshot(version))
    assert len(whole[0]) == len(offsets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_feed, "SLICE_ROWS", rows)
        assert (list(feed.changes(version)), list(feed.snapshot(version))) == whole


def test_a_version_that_is_not_kept_any_more_says_how_to_go_on(changes: FeedTable) -> None:
    first = changes.overwrite([change(1)])
    changes.overwrite([change(2)])
    DeltaTable(changes.path).vacuum(0, enforce_retention_duration=False, dry_run=False)
    feed = changes.opened()
    says = rf"{changes.path}: version {first} can't be read any more .*30 days.*--restart"
    for read in (feed.changes, feed.snapshot):
        with pytest.raises(UsageError, match=says):
            list(read(first))

    DeltaTable(changes.path).create_checkpoint()
    os.remove(f"{changes.path}/_delta_log/{first:020d}.json")
    with pytest.raises(UsageError, match=says):
        list(changes.opened().changes(first))


def test_a_table_that_is_not_there_or_another_release_s_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "lake" / "gold" / "findings"
    with pytest.raises(UsageError, match=r"findings is no table: run `kraftlake build"):
        ChangeFeed(str(missing), FEEDS[FINDINGS])
    assert list(tmp_path.iterdir()) == []
    table = FeedTable(tmp_path, CHANGES)
    with pytest.raises(UsageError, match=r"another release of kraftlake \(it lacks capture_id, di"):
        ChangeFeed(table.path, FEEDS[FINDINGS])


def test_a_table_that_is_made_anew_meanwhile_is_noticed(changes: FeedTable, tmp_path: Path) -> None:
    feed = changes.opened()
    assert feed.newest() == 0
    shutil.rmtree(changes.path)
    FeedTable(tmp_path, CHANGES)
    with pytest.raises(UsageError, match="was made anew: begin anew with --restart"):
        feed.newest()
