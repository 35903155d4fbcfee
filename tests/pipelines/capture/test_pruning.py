"""Captures that are old enough go, with the files that they name and no others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines.capture.pruning import old_captures, remove
from replica.errors import KraftlakeError, UsageError
from replica.format import capture
from replica.format.capture import CapturedFile, CaptureInfo
from tests.kraftlake_process import kraftlake

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


def captured(folder: Path, age: timedelta, *, name: str = capture.FILE_NAME) -> Path:
    """A capture of a node with one file, so old."""
    node = folder / "node-1"
    node.mkdir(parents=True)
    (node / "meta.properties").write_text("version=1\n")
    file = CapturedFile("node-1/meta.properties", 10, "0" * 64)
    (folder / name).write_bytes(capture.encode(CaptureInfo(NOW - age, (file,))))
    return folder


def pruned(folder: Path, age: timedelta = DAY) -> list[str]:
    found = list(old_captures(str(folder), NOW - age))
    for one in found:
        remove(one)
    return [Path(one.path).name for one in found]


def test_captures_older_than_the_age_go_the_oldest_first(tmp_path: Path) -> None:
    captured(tmp_path / "b", 3 * DAY)
    captured(tmp_path / "c", 2 * DAY)
    kept = captured(tmp_path / "a", DAY / 2)
    assert pruned(tmp_path) == ["b", "c"]
    assert list(tmp_path.iterdir()) == [kept]
    assert (kept / "node-1" / "meta.properties").exists()
    assert pruned(tmp_path) == []


def test_files_that_no_capture_json_names_stay(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "capture.txt").write_text("mine")
    (tmp_path / "old.tar").write_text("mine")
    old = captured(tmp_path / "old", 3 * DAY)
    (old / "node-1" / "mine.txt").write_text("mine")
    broken = captured(tmp_path / "broken", 3 * DAY)
    (broken / capture.FILE_NAME).write_text("{")
    assert pruned(tmp_path) == ["old"]
    assert [path.name for path in old.rglob("*")] == ["node-1", "mine.txt"]
    assert (broken / "node-1" / "meta.properties").exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = captured(tmp_path / "elsewhere", 3 * DAY)
    folder = tmp_path / "captures"
    folder.mkdir()
    (folder / "linked").symlink_to(elsewhere)
    inside = captured(folder / "inside", 3 * DAY)
    shutil.rmtree(inside / "node-1")
    (inside / "node-1").symlink_to(elsewhere / "node-1")
    with suppress(KraftlakeError):  # refused
        pruned(folder)
    assert (elsewhere / "node-1" / "meta.properties").exists()


@pytest.mark.parametrize("linked", ["node-1", "node-1/meta.properties"])
def test_a_capture_with_a_link_in_a_named_path_stays_whole_and_the_others_go(
    tmp_path: Path, linked: str
) -> None:
    elsewhere = captured(tmp_path / "elsewhere", 3 * DAY)
    folder = tmp_path / "captures"
    folder.mkdir()
    strange = captured(folder / "a-strange", 4 * DAY)
    place = strange / linked
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    place.symlink_to(elsewhere / linked)
    captured(folder / "old", 3 * DAY)
    before = sorted(strange.rglob("*"))
    said = kraftlake("prune", str(folder), "--older-than", "36h")
    assert said.returncode == 1
    assert f"prune: {strange} was not deleted: {strange}/node-1" in said.stderr
    assert sorted(strange.rglob("*")) == before
    assert (elsewhere / "node-1/meta.properties").exists()
    assert not (folder / "old").exists()


def test_the_next_pruning_removes_what_an_interrupted_one_left(tmp_path: Path) -> None:
    left = captured(tmp_path / "left", 3 * DAY, name=capture.PART_NAME)
    assert pruned(tmp_path) == ["left"]
    assert not left.exists()


@pytest.mark.parametrize("at", range(8))
def test_wherever_a_pruning_is_interrupted_the_next_one_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Before each call by which it changes the folder; `at` 7 is behind the last one."""
    captured(tmp_path / "old", 3 * DAY)
    new = captured(tmp_path / "new", DAY / 2)
    (tmp_path / "begun").mkdir()
    changes = 0

    def interrupting(change: Callable[..., None]) -> Callable[..., None]:
        def changed(*words: Any, **more: Any) -> None:
            nonlocal changes
            if changes == at:
                raise KeyboardInterrupt
            changes += 1
            change(*words, **more)

        return changed

    with monkeypatch.context() as patched:
        for name in ("unlink", "rmdir", "rename", "replace"):
            patched.setattr(os, name, interrupting(getattr(os, name)))
        with suppress(KeyboardInterrupt):
            pruned(tmp_path)
    assert changes == at
    assert kraftlake("prune", tmp_path, "--older-than", "1d").returncode == 0
    assert sorted(tmp_path.iterdir()) == [tmp_path / "begun", new]


def test_no_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such folder"):
        list(old_captures(str(tmp_path / "none"), NOW))


def test_the_command_names_what_it_takes_away(tmp_path: Path) -> None:
    captured(tmp_path / "old", 3 * DAY)
    said = kraftlake("prune", str(tmp_path), "--older-than", "36h", "--dry-run")
    assert said.returncode == 0, said.stderr
    assert "1 capture would be removed" in said.stdout
    assert (tmp_path / "old").exists()
    said = kraftlake("prune", str(tmp_path), "--older-than", "36h")
    assert "old: captured" in said.stdout
    assert not (tmp_path / "old").exists()
    refused = kraftlake("prune", str(tmp_path), "--older-than", "soon")
    assert refused.returncode == 2
    assert "--older-than soon: expected a number and m, h, d or w" in refused.stderr
