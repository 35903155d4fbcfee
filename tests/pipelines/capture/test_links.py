"""Symbolic links in a directory to files elsewhere, for those who read single files of it."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from jobs.cli.directories.check_inputs import find_inputs
from pipelines.capture.grouping import replica_at
from pipelines.sources.files import log_files
from replica.doctor.check.partition import partition_at
from replica.errors import UnreadableFileError
from tests.kraftlake_process import REPOSITORY

_NODE = REPOSITORY / "tests" / "data" / "kafka-4.1.1-dynamic" / "split" / "2"
FOLDER = "__cluster_metadata-0"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return Path(shutil.copytree(_NODE, tmp_path / "node"))


def moved(path: Path, folder: Path) -> None:
    """Leaves a link in the place of the file, which goes to another folder."""
    folder.mkdir(exist_ok=True)
    path.symlink_to(shutil.move(path, folder / path.name))


def test_whose_a_directory_is_is_not_read_through_a_link(node: Path, tmp_path: Path) -> None:
    assert replica_at(str(node / FOLDER)) is not None
    moved(node / "meta.properties", tmp_path / "elsewhere")
    assert replica_at(str(node / FOLDER)) is None


def test_check_tells_no_two_captures_of_a_replica_apart_by_what_a_link_leads_to(
    node: Path, tmp_path: Path
) -> None:
    moved(node / "meta.properties", tmp_path / "elsewhere")
    with ExitStack() as stack:
        found = find_inputs([str(node), str(_NODE)], (), stack)
    assert [len(group) for group in found.groups] == [2]


def test_the_partition_of_a_folder_is_not_read_through_links(node: Path, tmp_path: Path) -> None:
    folder = (node / FOLDER).rename(node / "orders-0")
    for path in folder.iterdir():
        path.unlink()
    named = folder / "partition.metadata"
    named.write_text("version: 0\ntopic_id: vVWAweqkRhqksC9dk42J8Q\n")
    assert partition_at(str(folder)).key == "vVWAweqkRhqksC9dk42J8Q"
    moved(named, tmp_path / "elsewhere")
    assert partition_at(str(folder)).is_metadata, "nothing tells that it is another one"


def test_kraft_log_lists_no_link_to_a_file_elsewhere(node: Path, tmp_path: Path) -> None:
    segment = next((node / FOLDER).glob("*.log"))
    moved(segment, tmp_path / "elsewhere")
    with pytest.raises(UnreadableFileError, match="no known file of this directory"):
        log_files(str(node))
    assert [Path(file.path) for file in log_files(str(segment))] == [segment], "the user names it"
