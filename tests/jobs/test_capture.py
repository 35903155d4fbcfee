"""`kraftlake capture`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from replica.format.file_names import METADATA_FOLDER
from tests.jobs.conftest import Kraftlake

LIVE = "kafka-3.7.2-static/live"


def test_capture_lists_the_nodes_and_check_reads_the_copy(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    ended = kraftlake("capture", data / LIVE / "1", data / LIVE / "2", "-o", tmp_path / "out")
    assert ended.code == 0
    assert [line.split(": ")[0] for line in ended.lines] == ["node-1", "node-2", "next"]
    assert all("bytes sent" in line for line in ended.complaints)
    assert kraftlake("check", tmp_path / "out").code == 0


def test_as_json_each_directory_is_a_line(kraftlake: Kraftlake, data: Path, tmp_path: Path) -> None:
    ended = kraftlake("capture", "--json", data / LIVE, "-o", tmp_path / "out")
    assert {row["folder"] for row in ended.rows} == {"node-1", "node-2", "node-3", "node-11"}
    assert {row["damages"] for row in ended.rows} == {0}
    on_disk = json.loads((tmp_path / "out" / "capture.json").read_bytes())["files"]
    assert sum(row["files"] for row in ended.rows) == len(on_disk)
    assert sum(row["sent_bytes"] for row in ended.rows) >= sum(f["size_bytes"] for f in on_disk)


def test_a_capture_keeps_when_each_file_was_last_written(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    """A copy has times of its own, and a node's directory may be gone by then."""
    node = Path(shutil.copytree(data / LIVE / "1", tmp_path / "1"))
    state = node / METADATA_FOLDER / "quorum-state"
    os.utime(state, (1_700_000_000, 1_700_000_000.25))
    kraftlake("capture", node, "-o", tmp_path / "out")
    kraftlake("redact", tmp_path / "out", "-o", tmp_path / "redacted")
    for copy in ("out", "redacted"):
        files = json.loads((tmp_path / copy / "capture.json").read_bytes())["files"]
        times = {one["path"]: one["modified_at"] for one in files}
        assert times[f"node-1/{METADATA_FOLDER}/quorum-state"] == "2023-11-14T22:13:20.250Z"


def test_a_damaged_directory_is_captured_as_it_is_and_named(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data / LIVE / "1", tmp_path / "1")
    state = tmp_path / "1" / METADATA_FOLDER / "quorum-state"
    state.write_bytes(b"{")
    ended = kraftlake("capture", tmp_path / "1", "-o", tmp_path / "out")
    assert ended.code == 1
    assert any("quorum-state" in line for line in ended.complaints)
    assert (tmp_path / "out" / "node-1" / METADATA_FOLDER / "quorum-state").read_bytes() == b"{"


@pytest.mark.parametrize("command", ["capture", "redact"])
def test_an_empty_folder_does_not_end_the_copy_of_others(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, command: str
) -> None:
    empty = tmp_path / "new-disk"
    empty.mkdir()
    ended = kraftlake(command, empty, data / LIVE / "1", "-o", tmp_path / "out")
    assert ended.code == 1
    first, *_, last = [line.split(": ")[0] for line in ended.lines]
    assert (first, last) == ("node-1", "next")
    assert any(one.startswith(f"{empty}: ") and "empty disk" in one for one in ended.complaints)
    assert "no metadata directory below it" in kraftlake(command, empty, "-o", "alone").error


def test_a_finished_capture_is_never_written_over(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    assert kraftlake("capture", data / LIVE / "1", "-o", tmp_path / "out").code == 0
    again = kraftlake("capture", data / LIVE / "2", "-o", tmp_path / "out")
    assert again.code == 2
    assert "finished capture" in again.error
