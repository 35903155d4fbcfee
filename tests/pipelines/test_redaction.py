"""The key of a lake's fingerprints."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from pipelines.lake import Lake, redaction
from pipelines.lake.redaction import keep_to_owner, lake_key, lake_key_file
from replica.errors import UsageError


def made(lake: Path) -> str:
    return lake_key_file(Lake(lake), lake_key(Lake(lake)))


def test_the_key_is_made_once_and_is_its_owners_only(tmp_path: Path) -> None:
    lake = tmp_path / "new" / "lake"
    path = Path(made(lake))
    key = path.read_bytes()
    assert len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert made(lake) == str(path)
    assert path.read_bytes() == key
    assert list(lake.iterdir()) == [path]


def test_its_path_is_found_from_every_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert lake_key_file(Lake("lake"), lake_key(Lake("lake"))) == str(
        tmp_path / "lake" / redaction.FILE_NAME
    )


def test_two_lakes_have_two_keys(tmp_path: Path) -> None:
    keys = {Path(made(tmp_path / name)).read_bytes() for name in "ab"}
    assert len(keys) == 2


def test_of_creators_at_once_all_get_the_same_whole_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Barrier(4)
    link = os.link

    def link_together(*arguments: Any) -> None:
        together.wait(10)
        link(*arguments)

    monkeypatch.setattr(redaction.os, "link", link_together)
    with ThreadPoolExecutor(4) as pool:
        read = [pool.submit(lambda: Path(made(tmp_path)).read_bytes()) for _ in "1234"]
        keys = {one.result() for one in read}
    assert len(keys) == 1
    assert len(keys.pop()) == 32
    assert [path.name for path in tmp_path.iterdir()] == [redaction.FILE_NAME]


def test_a_creator_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(size: int) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(redaction.secrets, "token_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        made(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / redaction.FILE_NAME).write_bytes(b"")
    with pytest.raises(UsageError, match="empty: restore it"):
        made(tmp_path)


def test_a_lake_that_will_hold_secrets_is_its_owners_only(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    lake.chmod(0o755)
    assert keep_to_owner(Lake(lake.as_uri()))
    assert stat.S_IMODE(lake.stat().st_mode) == 0o700
    assert not keep_to_owner(Lake(lake))
