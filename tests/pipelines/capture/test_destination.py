"""Where captures are written: what lies there is never trusted, and no link is followed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.capture.taking import directories, take
from replica.errors import KraftlakeError, UnwritableFileError, UsageError
from replica.format.capture import PART_NAME
from replica.format.content_hash import content_hash
from replica.format.file_names import METADATA_FOLDER, classify
from tests.pipelines.capture.test_taking import LIVE, capture, files_below

STATE = f"node-1/{METADATA_FOLDER}/quorum-state"


@pytest.fixture
def node(data: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(data / LIVE / "1", tmp_path / "nodes" / "1"))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder beside the capture, whose content must stay as it is."""
    folder = tmp_path / "mine"
    (folder / "below").mkdir(parents=True)
    (folder / "letter.txt").write_text("precious")
    (folder / "below" / "quorum-state").write_text("precious, too")
    return folder


def journal(folder: Path, *paths: str, of: Path | None = None) -> None:
    """A capture.json.part that says that files have arrived, with the content of the file `of`."""
    data = b"" if of is None else of.read_bytes()
    files = [
        {
            "path": path,
            "size_bytes": len(data),
            "content_hash": content_hash(classify(path.rpartition("/")[2]), data),
        }
        for path in paths
    ]
    folder.mkdir(parents=True, exist_ok=True)
    fields = {"version": 1, "captured_at": "2026-11-21T00:00:00Z", "files": files}
    (folder / PART_NAME).write_text(json.dumps(fields))


ESCAPES = (
    "../mine/letter.txt",
    "node-1/../../mine/letter.txt",
    "/etc/hostname",
    "node-1//letter.txt",
    "./letter.txt",
    "node-1/.",
    "node-1/x\0y",
    "",
    "notes.txt",
)


@pytest.mark.parametrize("path", ESCAPES)
def test_a_journal_with_a_name_that_no_capture_writes_is_refused(
    node: Path, mine: Path, tmp_path: Path, path: str
) -> None:
    journal(tmp_path / "capture", path)
    before = files_below(tmp_path)
    with pytest.raises(UsageError, match=r"capture\.json\.part: files: .* is no path"):
        capture(node, tmp_path / "capture")
    assert files_below(tmp_path) == before


def test_a_journal_in_an_object_store_is_read_as_warily(
    node: Path, mine: Path, tmp_path: Path
) -> None:
    journal(tmp_path / "capture", ESCAPES[0])
    with pytest.raises(UsageError, match="is no path"):
        capture(node, (tmp_path / "capture").as_uri())
    assert (mine / "letter.txt").exists()


def linked_file(out: Path, mine: Path) -> None:
    (out / STATE).parent.mkdir(parents=True)
    (out / STATE).symlink_to(mine / "letter.txt")


def linked_partition(out: Path, mine: Path) -> None:
    (out / "node-1").mkdir(parents=True)
    (out / "node-1" / METADATA_FOLDER).symlink_to(mine / "below")


def linked_node(out: Path, mine: Path) -> None:
    out.mkdir(parents=True)
    (out / "node-1").symlink_to(mine)


def linked_journal(out: Path, mine: Path) -> None:
    (out / PART_NAME).rename(mine / "journal")
    (out / PART_NAME).symlink_to(mine / "journal")


@pytest.mark.parametrize(
    "link", [linked_file, linked_partition, linked_node, linked_journal], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("known", [True, False], ids=["in-journal", "not-in-journal"])
def test_a_link_below_the_destination_is_refused_and_never_followed(
    node: Path, mine: Path, tmp_path: Path, link: Callable[[Path, Path], None], known: bool
) -> None:
    out = tmp_path / "capture"
    if link is linked_journal:
        journal(out)
    link(out, mine)
    if link is not linked_journal:
        journal(out, *([STATE, "node-1/letter.txt"] if known else []))
    before = files_below(mine)
    with pytest.raises(KraftlakeError, match="link"):
        capture(node, out)
    assert files_below(mine) == before


def test_a_link_to_a_device_gets_no_bytes(node: Path, tmp_path: Path) -> None:
    out = tmp_path / "capture"
    journal(out)
    (out / "node-1").mkdir()
    (out / "node-1" / "meta.properties").symlink_to("/dev/full")
    with pytest.raises(UnwritableFileError, match="link"):
        capture(node, out)


def test_a_second_name_of_a_file_elsewhere_is_replaced_and_not_written_into(
    node: Path, mine: Path, tmp_path: Path
) -> None:
    out = tmp_path / "capture"
    journal(out)
    (out / STATE).parent.mkdir(parents=True)
    os.link(mine / "letter.txt", out / STATE)
    capture(node, out)
    assert (mine / "letter.txt").read_text() == "precious"
    source = node / METADATA_FOLDER / "quorum-state"
    assert (out / STATE).read_bytes() == source.read_bytes()


def test_a_destination_that_is_a_link_is_refused(node: Path, mine: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "capture").symlink_to(tmp_path / "empty")
    with pytest.raises(UsageError, match="a link: name the folder"):
        capture(node, tmp_path / "capture")
    assert files_below(tmp_path / "empty") == {}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("inner", ["", "node-1"])
def test_a_folder_that_somebody_else_owns_is_refused(
    node: Path, tmp_path: Path, inner: str
) -> None:
    out = tmp_path / "capture"
    journal(out)
    (out / inner).mkdir(exist_ok=True)
    os.chown(out / inner, 65534, 65534)
    with pytest.raises(KraftlakeError, match="another user"):
        capture(node, out)
    assert set(files_below(out)) == {PART_NAME}


def test_a_folder_that_everybody_may_write_to_is_refused(node: Path, tmp_path: Path) -> None:
    out = tmp_path / "capture"
    out.mkdir()
    out.chmod(0o777)
    with pytest.raises(UsageError, match="everybody may write"):
        capture(node, out)
    assert files_below(out) == {}


def test_a_file_that_a_journal_names_is_checked_at_the_destination(
    node: Path, tmp_path: Path
) -> None:
    out = tmp_path / "capture"
    source = node / METADATA_FOLDER / "quorum-state"
    journal(out, STATE, of=source)
    (out / STATE).parent.mkdir(parents=True)
    (out / STATE).write_bytes(source.read_bytes().replace(b"1", b"2"))
    take(directories([str(node)]), str(out))
    assert (out / STATE).read_bytes() == source.read_bytes()


def test_a_journal_s_file_that_is_gone_is_no_error(node: Path, tmp_path: Path) -> None:
    out = tmp_path / "capture"
    journal(out, "node-9/quorum-state", f"node-9/{METADATA_FOLDER}/quorum-state")
    capture(node, out)
    assert (out / "capture.json").exists()
