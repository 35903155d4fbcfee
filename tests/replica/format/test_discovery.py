"""What is found below the paths that a user names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from replica.errors import UnreadableFileError, UsageError
from replica.format.discovery import DirectoryPath, FilePath, discover
from replica.format.file_names import METADATA_FOLDER, FileKind

LOG = f"{0:020d}.log"


def make(root: Path, *files: str) -> None:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def shown(root: Path, *, skip: tuple[str, ...] = ()) -> list[str]:
    return [os.path.relpath(one.shown, root) for one in discover([str(root)], skip=skip)]


def test_every_recorded_directory_is_found_once(data: Path) -> None:
    found = discover([str(data / "kafka-3.7.2-static")])
    assert len(found) == 14
    assert {type(one) for one in found} == {DirectoryPath}
    assert {os.path.basename(one.path) for one in found} == {METADATA_FOLDER}
    assert len({one.path for one in found}) == 14


def test_folders_come_in_the_order_of_their_numbers_then_names(tmp_path: Path) -> None:
    make(tmp_path, *(f"{name}/{METADATA_FOLDER}/{LOG}" for name in ("10", "9", "b", "a/2", "a/1")))
    assert shown(tmp_path) == [f"{n}/{METADATA_FOLDER}" for n in ("9", "10", "a/1", "a/2", "b")]


def test_a_folder_of_another_name_with_a_quorum_state_is_a_metadata_directory(
    tmp_path: Path,
) -> None:
    make(tmp_path, "x/quorum-state", f"orders-0/{LOG}", f"x/deeper/{METADATA_FOLDER}/{LOG}")
    assert shown(tmp_path) == ["x"], "other partitions, and what lies in a found one, are no find"


def test_a_named_folder_with_logs_in_it_is_a_metadata_directory(tmp_path: Path) -> None:
    make(tmp_path, LOG)
    assert discover([f"{tmp_path}/"]) == (DirectoryPath(f"{tmp_path}/", str(tmp_path)),)


def test_a_named_file_is_found_with_its_kind(data: Path, tmp_path: Path) -> None:
    segment = next((data / "kafka-3.7.2-static" / "live" / "1").rglob("*.log"))
    renamed = tmp_path / "renamed.bin"
    renamed.write_bytes(segment.read_bytes())
    make(tmp_path, "notes.txt", "server.log")
    kinds = {}
    for path in (segment, renamed, tmp_path / "notes.txt", tmp_path / "server.log"):
        (found,) = discover([str(path)])
        assert isinstance(found, FilePath)
        kinds[path.name] = found.name.kind
    assert list(kinds.values()) == [
        FileKind.SEGMENT,
        FileKind.SEGMENT,
        FileKind.OTHER,
        FileKind.SEGMENT,
    ]


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (found,) = discover([str(tmp_path / "pipe")])
    assert isinstance(found, FilePath)
    assert found.name.kind is FileKind.OTHER


def test_a_path_with_nothing_or_nowhere_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{tmp_path}: no metadata directory below it"):
        discover([str(tmp_path)])
    with pytest.raises(UsageError, match="absent: no such file or directory"):
        discover([str(tmp_path / "absent")])


def test_a_recorders_archive_may_be_empty_and_no_other_folder(tmp_path: Path) -> None:
    make(tmp_path, f"{METADATA_FOLDER}/{LOG}", "archive/x", "other/x")
    recorded, archive = tmp_path / METADATA_FOLDER, tmp_path / "archive"
    assert [one.path for one in discover([str(tmp_path), f"{archive}/"])] == [str(recorded)]
    with pytest.raises(UsageError, match="no metadata directory below it"):
        discover([str(tmp_path / "other")])
    (recorded / LOG).unlink()
    recorded.rmdir()
    with pytest.raises(UsageError, match="no metadata directory below it"):
        discover([str(archive)])


def test_links_are_followed_once_and_never_in_a_circle(tmp_path: Path) -> None:
    make(tmp_path, f"real/1/{METADATA_FOLDER}/{LOG}")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "up").symlink_to(tmp_path)
    (tmp_path / "nowhere").symlink_to(tmp_path / "absent")
    assert len(shown(tmp_path)) == 1


def test_a_tree_deeper_than_pythons_stack_is_searched(tmp_path: Path) -> None:
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
        os.mkdir(METADATA_FOLDER)
        assert len(discover([str(tmp_path)])) == 1
    finally:
        os.chdir(here)
        subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)  # too deep for pytest


def test_a_skipped_folder_is_left_out_where_it_is_met_and_not_where_it_is_named(
    tmp_path: Path,
) -> None:
    make(tmp_path, f"lake/_spool/1/{METADATA_FOLDER}/{LOG}", f"1/{METADATA_FOLDER}/{LOG}")
    (tmp_path / "alias").symlink_to(tmp_path / "lake")
    skip = (str(tmp_path / "lake"),)
    assert shown(tmp_path, skip=skip) == [f"1/{METADATA_FOLDER}"]
    assert len(discover([str(tmp_path / "lake" / "_spool")], skip=skip)) == 1


def test_a_name_that_is_not_utf8_is_shown_with_its_bytes(tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    os.makedirs(os.path.join(folder, METADATA_FOLDER.encode()))
    (found,) = discover([str(tmp_path)])
    assert found.shown == f"{tmp_path}/caf\\xe9/{METADATA_FOLDER}"
    assert os.path.isdir(found.path)


@contextmanager
def refusing(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    """Make os.scandir refuse the folder: root, who runs the tests, may list every folder."""
    scandir, listdir = os.scandir, os.listdir

    def refuse(path: Any, real: Any) -> Any:
        if os.path.basename(path) == name:
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", lambda path: refuse(path, scandir))
        patch.setattr(os, "listdir", lambda path: refuse(path, listdir))
        yield


def test_a_folder_that_cannot_be_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, f"1/{METADATA_FOLDER}/{LOG}", f"2/{METADATA_FOLDER}/{LOG}")
    with refusing(monkeypatch, "1"), pytest.raises(UnreadableFileError, match="Permission denied"):
        discover([str(tmp_path)])


@pytest.mark.parametrize(("refused", "expected"), [("1", ["2", "3"]), ("2", ["1", "3"])])
def test_the_search_goes_on_where_the_caller_takes_the_error(
    refused: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, *(f"{node}/{METADATA_FOLDER}/{LOG}" for node in "123"))
    errors: list[UnreadableFileError] = []
    with refusing(monkeypatch, refused):
        found = discover([str(tmp_path)], on_error=errors.append)
    assert [os.path.relpath(one.shown, tmp_path)[0] for one in found] == expected
    assert [(error.path, error.reason) for error in errors] == [
        (f"{tmp_path}/{refused}", "Permission denied")
    ]


def test_a_named_folder_that_cannot_be_listed_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[UnreadableFileError] = []
    with refusing(monkeypatch, tmp_path.name):
        assert discover([str(tmp_path)], on_error=errors.append) == ()
    assert len(errors) == 1


@pytest.mark.parametrize(
    ("path", "label", "node"),
    [
        (f"/d/1/{METADATA_FOLDER}", f"d/1/{METADATA_FOLDER}", "d/1"),
        (f"/d/1/{METADATA_FOLDER}", METADATA_FOLDER, "."),
        (f"/d/1/{METADATA_FOLDER}", ".", "./.."),
    ],
)
def test_files_are_shown_as_the_user_would_name_them(path: str, label: str, node: str) -> None:
    found = DirectoryPath(path, label)
    assert found.shown_node == node
    assert found.shown_file(f"{METADATA_FOLDER}/{LOG}") == f"{label}/{LOG}"
    assert found.shown_file("meta.properties") == f"{node}/meta.properties"
