"""Files that were found in a directory: which symbolic links are followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from replica.errors import UnreadableFileError
from replica.format import reading
from replica.format.file_names import FileName, classify
from replica.format.reading import MAX_STATE_BYTES, read_file, read_own_file

REFUSED = "no known file of this directory"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "key.pem"
    path.write_bytes(b"secret")
    return path


@pytest.fixture
def node(tmp_path: Path) -> Path:
    folder = tmp_path / "node"
    folder.mkdir()
    (folder / "quorum-state").write_bytes(b"state")
    return folder


def test_a_link_to_a_file_elsewhere_is_refused_and_one_that_the_user_named_is_followed(
    node: Path, secret: Path
) -> None:
    link = node / "meta.properties"
    link.symlink_to(secret)
    with pytest.raises(UnreadableFileError, match=REFUSED):
        read_own_file(str(link), MAX_STATE_BYTES)
    assert read_file(str(link), MAX_STATE_BYTES) == b"secret"


def test_a_link_to_a_file_of_the_same_folder_is_followed_also_over_another_link(
    node: Path,
) -> None:
    (node / "second").symlink_to("quorum-state")
    (node / "first").symlink_to("second")
    assert read_own_file(str(node / "first"), MAX_STATE_BYTES) == b"state"


def test_links_to_nothing_and_to_themselves_are_refused_by_name(node: Path) -> None:
    (node / "meta.properties").symlink_to("gone")
    (node / "partition.metadata").symlink_to("partition.metadata")
    for name in ("meta.properties", "partition.metadata"):
        with pytest.raises(UnreadableFileError, match="a symbolic link to nothing"):
            read_own_file(str(node / name), MAX_STATE_BYTES)


def test_a_link_that_takes_the_place_of_the_file_after_its_check_is_not_followed(
    node: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (node / "meta.properties").symlink_to("quorum-state")

    def swap(name: str) -> FileName:
        os.unlink(node / "quorum-state")
        os.symlink(secret, node / "quorum-state")
        return classify(name)

    monkeypatch.setattr(reading, "classify", swap)
    with pytest.raises(UnreadableFileError):
        read_own_file(str(node / "meta.properties"), MAX_STATE_BYTES)
