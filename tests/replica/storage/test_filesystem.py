"""The port's contract, held by the real disk and by the simulated one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from replica.errors import UnreadableFileError, UnwritableFileError
from replica.storage.directory_lock import DirectoryLock
from replica.storage.filesystem import LocalDisk, read_whole, replace_durably
from tests.replica.storage.conftest import Place


def test_bytes_written_at_a_position_are_read_there(place: Place) -> None:
    with place.files.create(f"{place.folder}/a") as file:
        file.write(0, b"hello world")
        file.write(6, b"W")
        assert file.read(4, 4) == b"o Wo"
        assert file.size() == 11


def test_a_read_past_the_end_gives_what_there_is(place: Place) -> None:
    place.put("a", b"abc")
    with place.files.open(f"{place.folder}/a") as file:
        assert file.read(1, 100) == b"bc"
        assert file.read(50, 100) == b""


def test_a_gap_reads_as_zeros(place: Place) -> None:
    with place.files.create(f"{place.folder}/a") as file:
        file.write(3, b"x")
        assert file.read(0, 10) == b"\0\0\0x"


def test_truncation_shortens_and_creation_empties(place: Place) -> None:
    place.put("a", b"abcdef")
    with place.files.open(f"{place.folder}/a") as file:
        file.truncate(2)
        assert file.read(0, 10) == b"ab"
    place.files.create(f"{place.folder}/a").close()
    assert place.content("a") == b""


def test_a_rename_replaces_its_target(place: Place) -> None:
    place.put("a", b"new")
    place.put("b", b"old")
    place.files.rename(f"{place.folder}/a", f"{place.folder}/b")
    assert place.names() == ("b",)
    assert place.content("b") == b"new"


def test_a_file_that_is_not_there_is_one_clear_line(place: Place) -> None:
    with pytest.raises(UnreadableFileError, match=r"a: (N|n)o such file or directory"):
        place.files.open(f"{place.folder}/a")
    with pytest.raises(UnwritableFileError):
        place.files.remove(f"{place.folder}/a")


def test_a_file_beyond_the_limit_is_not_read(place: Place) -> None:
    place.put("a", b"123456")
    with pytest.raises(UnreadableFileError, match="6 bytes, the limit is 5"):
        read_whole(place.files, f"{place.folder}/a", 5)


def test_a_replaced_file_leaves_no_other_file(place: Place) -> None:
    for content in (b"one", b"three"):
        replace_durably(place.files, place.folder, "state", content)
        assert place.content("state") == content
    assert place.names() == ("state",)


def test_an_existing_directory_is_left_as_it_is(place: Place) -> None:
    place.put("a", b"1")
    place.files.make_directory(place.folder)
    assert place.names() == ("a",)


def test_no_file_is_made_or_emptied_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("precious")
    for name in ("letter", "missing"):
        (tmp_path / f"{name}.tmp").symlink_to(tmp_path / name)
        with pytest.raises(UnwritableFileError, match=r"\.tmp: .*links"):
            LocalDisk().create(str(tmp_path / f"{name}.tmp"))
    assert (tmp_path / "letter").read_text() == "precious"
    assert not (tmp_path / "missing").exists()


def test_a_replicas_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = f"{tmp_path}/data/__cluster_metadata-0"
        LocalDisk().make_directory(folder)
        LocalDisk().create(f"{folder}/quorum-state.tmp").close()
        with DirectoryLock(f"{tmp_path}/data"):
            made = [tmp_path / "data", *(tmp_path / "data").rglob("*")]
            modes = {path.name: stat.filemode(path.stat().st_mode) for path in made}
    finally:
        os.umask(before)
    assert modes == {
        "data": "drwx------",
        "__cluster_metadata-0": "drwx------",
        "quorum-state.tmp": "-rw-------",
        ".lock": "-rw-------",
    }
