"""Publishing to files: each version once, whatever happened on the way."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from pipelines.feeds.files import file_target
from pipelines.feeds.publishing import Start, publish
from pipelines.feeds.values import Position
from replica.errors import BusyError, DataError, UnwritableFileError, UsageError
from tests.pipelines.feeds.feed_table import CHANGES, FINDINGS, FeedTable, change, finding

Told = list[tuple[Position, int]]


@pytest.fixture
def table(tmp_path: Path) -> FeedTable:
    made = FeedTable(tmp_path / "lake", CHANGES)
    made.replace([change(1), change(2)])
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "out"


def run(
    table: FeedTable, folder: Path, *, start: Start = "snapshot", restart: bool = False
) -> Told:
    told: Told = []
    feed = table.opened()
    with file_target(str(folder), feed.feed, feed.table_id) as target:
        publish(feed, target, lambda p, n: told.append((p, n)), start=start, restart=restart)
    return told


def contents(folder: Path) -> dict[str, list[tuple[str, int]]]:
    """File -> op and offset of its lines; nothing else may lie there."""
    found = {}
    for path in folder.iterdir():
        if path.name in (".lock", "progress.json"):
            continue
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found[path.name] = [
            (line["op"], (line["after"] or line["before"])["offset"]) for line in lines
        ]
    return found


def test_the_first_run_writes_all_rows_and_later_ones_what_changed(
    table: FeedTable, folder: Path
) -> None:
    assert run(table, folder) == [(Position(1, is_snapshot=True), 2)]
    assert run(table, folder) == []
    table.replace([change(2), change(3)])
    table.overwrite([change(3), change(2)])
    table.replace([change(3)])
    assert run(table, folder) == [(Position(2), 2), (Position(3), 0), (Position(4), 1)]
    assert contents(folder) == {
        "00000000000000000001.snapshot.jsonl": [("read", 1), ("read", 2)],
        "00000000000000000002.jsonl": [("delete", 1), ("insert", 3)],
        "00000000000000000004.jsonl": [("delete", 2)],
    }


def test_from_latest_on_only_what_comes_after_the_first_run_is_published(
    table: FeedTable, folder: Path
) -> None:
    assert run(table, folder, start="latest") == []
    table.replace([change(1)])
    assert run(table, folder, start="latest") == [(Position(2), 1)]
    assert contents(folder) == {"00000000000000000002.jsonl": [("delete", 2)]}


@pytest.mark.parametrize("failing", range(1, 13))
def test_a_run_that_failed_anywhere_leaves_the_rest_to_the_next(
    table: FeedTable, folder: Path, tmp_path: Path, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three versions: each brings a file and progress, each of these syncs file and folder."""
    undisturbed = tmp_path / "undisturbed"
    for directory in (undisturbed, folder):
        run(table, directory)
    table.replace([change(2), change(3)])
    table.replace([change(3), change(4)])
    table.replace([change(4)])
    run(table, undisturbed)
    calls = iter(range(1, 1000))
    sync = os.fsync

    def failing_sync(handle: int) -> None:
        if next(calls) == failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing_sync)
        with pytest.raises(UnwritableFileError, match=rf"{folder}/.*: No space left on device"):
            run(table, folder)
    assert not list(folder.glob(".*.part")), "half a file was left"
    run(table, folder)
    names = sorted(path.name for path in undisturbed.iterdir())
    assert sorted(path.name for path in folder.iterdir()) == names
    assert [(folder / n).read_bytes() for n in names] == [
        (undisturbed / n).read_bytes() for n in names
    ]


def test_only_one_publisher_writes_to_a_folder(table: FeedTable, folder: Path) -> None:
    feed = table.opened()
    with (
        file_target(str(folder), feed.feed, feed.table_id),
        pytest.raises(BusyError, match="another kraftlake publish runs with it"),
    ):
        run(table, folder)
    assert run(table, folder)


def test_a_folder_fed_from_another_table_is_refused_until_it_is_begun_anew(
    table: FeedTable, folder: Path, tmp_path: Path
) -> None:
    run(table, folder)
    rebuilt = FeedTable(tmp_path / "rebuilt", CHANGES)
    with pytest.raises(UsageError, match=r"out was fed from gold.metadata_changes of another lake"):
        run(rebuilt, folder)
    findings = FeedTable(tmp_path / "rebuilt", FINDINGS)
    findings.replace([finding("x")])
    with pytest.raises(UsageError, match=r"out was fed from gold.metadata_changes \(Delta table "):
        run(findings, folder)
    rebuilt.replace([change(8)])
    assert run(rebuilt, folder, restart=True) == [(Position(1, is_snapshot=True), 1)]
    assert run(rebuilt, folder) == []


def test_a_lake_put_back_from_a_backup_is_noticed(
    table: FeedTable, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(table.path, tmp_path / "backup")
    table.replace([change(5)])
    run(table, folder)
    shutil.rmtree(table.path)
    shutil.copytree(tmp_path / "backup", table.path)
    with pytest.raises(
        UsageError, match=r"has version 2 of .* the lake is at 1, as if it came from"
    ):
        run(table, folder)


def test_progress_that_is_none_names_its_file(table: FeedTable, folder: Path) -> None:
    run(table, folder)
    infinite = '{"table":"a","table_id":"b","version":1e999,"ordinal":0,"is_snapshot":true}'
    for text in (infinite, "{}", "[1]", "no json", '{"table":1,"table_id":2,"version":"x"}'):
        (folder / "progress.json").write_text(text)
        with pytest.raises(DataError, match=r"out/progress\.json: this is no "):
            run(table, folder)


def test_a_folder_that_can_t_be_one_is_named(table: FeedTable, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableFileError, match="file: File exists"):
        run(table, tmp_path / "file")
    remote = file_target("s3://bucket", table.feed, "id")
    with pytest.raises(UsageError, match="--to s3://bucket: expected a folder on a local"):
        remote.__enter__()


def test_a_link_in_the_place_of_an_unfinished_file_is_never_written_through(
    table: FeedTable, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "letter").write_text("precious")
    folder.mkdir()
    for name in (f"{1:020d}.snapshot.jsonl", "progress.json"):
        (folder / f".{name}.part").symlink_to(tmp_path / "letter")
    assert run(table, folder) == [(Position(1, is_snapshot=True), 2)]
    assert (tmp_path / "letter").read_text() == "precious"
    assert not any(path.is_symlink() for path in folder.iterdir())


def test_a_folder_of_other_things_is_refused_and_left_as_it_is(
    table: FeedTable, folder: Path
) -> None:
    (folder / "photos").mkdir(parents=True)
    (folder / "00000000000000000007.jsonl").touch()
    with pytest.raises(
        UsageError, match=f"^--to {folder}: holds photos, and no feed: name an empty"
    ):
        run(table, folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "00000000000000000007.jsonl",
        "photos",
    ]


def test_files_of_a_run_that_ended_early_do_not_make_a_folder_foreign(
    table: FeedTable, folder: Path
) -> None:
    folder.mkdir()
    for name in (".lock", "00000000000000000001.snapshot.jsonl", ".progress.json.part"):
        (folder / name).touch()
    assert run(table, folder) == [(Position(1, is_snapshot=True), 2)]
    (folder / "notes.txt").touch()  # beside a feed it is the user's own matter
    assert run(table, folder) == []
