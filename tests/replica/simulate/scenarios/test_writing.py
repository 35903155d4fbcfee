"""Captures as folders."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from replica.errors import UsageError
from replica.format import capture as capture_file
from replica.simulate.scenarios.quorum import Capture
from replica.simulate.scenarios.writing import write_capture

NOON_MS = 1_767_268_800_000
CAPTURE = Capture("cluster", NOON_MS, {1: {"meta.properties": b"one", "folder/log": b"two"}})


def contents(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


@pytest.mark.parametrize("is_there", [False, True])
def test_every_file_lies_below_its_node_with_the_time_beside_it(
    tmp_path: Path, is_there: bool
) -> None:
    target = tmp_path / "above" / "target"
    if is_there:
        target.mkdir(parents=True)
    write_capture(CAPTURE, str(target))
    found = contents(target)
    info = capture_file.decode(found.pop("capture.json"))
    assert info.captured_at == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert found == {"1/meta.properties": b"one", "1/folder/log": b"two"}
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(UsageError, match=r": not empty; name a new folder$"):
        write_capture(CAPTURE, str(tmp_path))
    assert contents(tmp_path) == {"mine": b"precious"}


def test_a_capture_does_not_replace_a_file_of_its_folder_s_name(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(UsageError, match=r"mine: a file; name a new folder$"):
        write_capture(CAPTURE, str(tmp_path / "mine"))
    assert contents(tmp_path) == {"mine": b"precious"}


def test_a_capture_that_fails_half_way_leaves_no_folder(tmp_path: Path) -> None:
    unwritable = Capture("cluster", NOON_MS, {1: {"a/b": b"", "a": b"a folder by now"}})
    with pytest.raises(OSError, match="directory"):
        write_capture(unwritable, str(tmp_path / "target"))
    assert list(tmp_path.iterdir()) == []
