"""A voter whose node refuses to start with its directories is counted by no answer of a lake, as by
those from directories."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from replica.format.file_names import METADATA_FOLDER
from tests.jobs.conftest import Kraftlake
from tests.jobs.lake_verdicts import lake_of, rows


def without_its_beginning(node: Path) -> None:
    """Let the log of a node begin behind all of its snapshots."""
    log = node / METADATA_FOLDER
    for path in (*log.glob("*.checkpoint"), *log.glob(f"{0:020d}.*")):
        path.unlink()


def on_two_disks(node: Path) -> None:
    """Give a node a second disk with a metadata log, whose directory has an id of its own."""
    disk = node.with_name("disk")
    node.rename(disk)
    node.mkdir()
    for name in ("disk-1", "disk-2"):
        shutil.copytree(disk, node / name)
    shutil.rmtree(disk)
    meta = node / "disk-2/meta.properties"
    text = re.sub("(?m)^directory.id=.*$", "directory.id=AAAAAAAAAAAAAAAAAA103A", meta.read_text())
    meta.write_text(text)


@pytest.mark.parametrize(
    "damage", [without_its_beginning, pytest.param(on_two_disks, marks=pytest.mark.slow)]
)
def test_a_voter_that_refuses_to_start_is_counted_by_no_lake(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, damage: Callable[[Path], None]
) -> None:
    nodes = tmp_path / "nodes"
    shutil.copytree(data / "kafka-4.1.1-dynamic/final", nodes)
    damage(nodes / "1")
    lake = lake_of(kraftlake, tmp_path / "lake", nodes)
    for asked in (("state", "--exposure"), ("plan", "--stop-broker", "12"), ("plan", "--roll")):
        of_lake, of_files = (
            kraftlake(*asked, "--json", "--lake", lake),
            kraftlake(*asked, "--json", nodes),
        )
        # of two disks the verdict on directories names each path, and a lake knows the node
        answers = "rows" if damage is without_its_beginning else "answers"
        told = [
            [row["reasons"] for row in ended.answers]
            if asked[0] == "plan"
            else getattr(ended, answers)
            for ended in (of_lake, of_files)
        ]
        assert told[0] == told[1], asked
    (row,) = rows(lake, "SELECT voters_left FROM gold.failure_exposure WHERE kind = 'nothing'")
    assert row["voters_left"] == 2
    assert "refuses to start" in of_lake.out
