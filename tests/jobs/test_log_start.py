"""The log start of a directory is one number, whichever command tells it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from jobs.cli.directories.offsets_text import log_range
from replica.format.directory import read_directory
from tests.jobs.conftest import Kraftlake

TRIMMED = "kafka-3.7.2-static/final/12"
"""Retention has moved this node's log start to 1913, inside the segment that begins at 519."""
FOLDER = "__cluster_metadata-0"


@pytest.mark.usefixtures("recorded")
def test_check_and_diff_tell_the_log_start_that_the_directory_has(kraftlake: Kraftlake) -> None:
    start = read_directory(f"{TRIMMED}/{FOLDER}").log_start_offset
    assert start == 1913
    told = f"log {start} to 1924 (older batches from 519 on still there), epoch"
    lines = kraftlake("check", TRIMMED).lines
    (line,) = (one for one in lines if one.endswith(f" {TRIMMED}/{FOLDER}"))
    assert f" {start} to 1924 " in line
    compared = kraftlake("diff", TRIMMED, "kafka-3.7.2-static/final/3")
    assert told in compared.lines[0]
    assert "log 519 to 1924, epoch" in compared.lines[1]


@pytest.mark.usefixtures("recorded")
@pytest.mark.slow
def test_check_and_diff_agree_on_every_recorded_directory(kraftlake: Kraftlake) -> None:
    for path in sorted(Path().glob(f"*/*/*/{FOLDER}")):
        directory = read_directory(str(path))
        told = f"log {directory.log_start_offset} to {directory.log_end_offset - 1}"
        (line,) = (one for one in kraftlake("check", path).lines if one.endswith(f" {path}"))
        assert f" {directory.log_start_offset} to {directory.log_end_offset - 1} " in line
        assert told in kraftlake("diff", path, path).lines[0]


def test_a_log_that_lost_its_head_behind_the_snapshot_starts_at_the_snapshot_s_end(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    assert kraftlake("simulate", "snapshot-log-hole", "-o", tmp_path).code == 0
    node = tmp_path / "2"
    assert read_directory(str(node / FOLDER)).log_start_offset == 24
    checked = kraftlake("check", node)
    assert " 24 to 103 " in checked.out
    assert "the newest usable snapshot has end offset 24, the first batch begins at offset 65" in (
        checked.out
    )
    assert "log 24 to 103 (no batch below 65), epoch" in kraftlake("diff", node, node).lines[0]


def test_without_a_usable_epoch_checkpoint_the_log_starts_at_its_first_batch(
    data: Path, kraftlake: Kraftlake, tmp_path: Path
) -> None:
    node = Path(shutil.copytree(data / TRIMMED, tmp_path / "12"))
    (node / FOLDER / "leader-epoch-checkpoint").unlink()
    assert read_directory(str(node / FOLDER)).log_start_offset == 519
    assert " 519 to 1924 " in kraftlake("check", node).out
    assert "log 519 to 1924, epoch" in kraftlake("diff", node, node).lines[0]


def test_a_finding_names_the_same_log_start_where_the_snapshot_at_it_is_damaged(
    data: Path, kraftlake: Kraftlake, tmp_path: Path
) -> None:
    node = Path(shutil.copytree(data / TRIMMED, tmp_path / "12"))
    (snapshot,) = (node / FOLDER).glob("*1913-*.checkpoint")
    snapshot.write_bytes(snapshot.read_bytes()[:-100])
    checked = kraftlake("check", node)
    assert checked.code == 1
    assert " 1913 to 1924 " in checked.out
    assert "the log starts at offset 1913, and there is no usable snapshot" in checked.out


def test_a_range_says_what_lies_below_its_start() -> None:
    assert log_range(0, 0, 9) == "log 0 to 8"
    assert log_range(5, 2, 9) == "log 5 to 8 (older batches from 2 on still there)"
    assert log_range(2, 5, 9) == "log 2 to 8 (no batch below 5)"
    assert log_range(2, None, 2) == "log without a record"
