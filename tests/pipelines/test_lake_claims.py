"""Claims on a lake in a store without locks; pyarrow's local file system stands for the store, as
all that is asked of it is to list what was written."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from pyarrow import fs

from pipelines.lake import Lake
from pipelines.lake import claims as lake_claims
from pipelines.lake.claims import EXPIRED_AFTER_S, FOLDER, Claim, claimed
from replica.errors import UsageError


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / FOLDER).mkdir()
    return tmp_path


def claim(lake: Path) -> Claim:
    return Claim(fs.LocalFileSystem(), str(lake / FOLDER))


def test_a_lake_is_one_owners_until_it_is_given_back(lake: Path) -> None:
    first, second = claim(lake), claim(lake)
    assert first.take()
    assert not second.take()
    assert [path.name for path in (lake / FOLDER).iterdir()] == [Path(first.path).name]
    first.give_back()
    assert second.take()


def test_an_owner_that_was_killed_is_forgotten_after_a_while(lake: Path) -> None:
    killed = claim(lake)
    assert killed.take()
    at = time.time() - EXPIRED_AFTER_S
    os.utime(killed.path, (at + 30, at + 30))
    assert not claim(lake).take()
    os.utime(killed.path, (at - 1, at - 1))
    assert claim(lake).take()
    assert not killed.is_held()


def test_of_many_at_once_each_gets_its_turn_alone(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_claims, "_TRIED_EVERY_S", 0.01)
    at_work, most, done = [0], [0], []

    def work(number: int) -> None:
        with claimed(Lake(lake.as_uri()), lambda: None):
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
            time.sleep(0.005)
            at_work[0] -= 1
            done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most[0], sorted(done)) == (1, [0, 1, 2, 3, 4, 5])
    assert list((lake / FOLDER).iterdir()) == []


def test_a_writer_that_waits_is_told_once(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake_claims, "_TRIED_EVERY_S", 0.01)
    first = claim(lake)
    assert first.take()
    told: list[str] = []
    is_told = threading.Event()

    def waiting() -> None:
        told.append("waits")
        is_told.set()

    def end() -> None:
        is_told.wait(10)
        time.sleep(0.1)
        first.give_back()

    thread = threading.Thread(target=end)
    thread.start()
    with claimed(Lake(lake.as_uri()), waiting):
        thread.join()
    assert told == ["waits"]


def test_a_claim_is_renewed_while_its_owner_works(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_claims, "RENEWED_EVERY_S", 0.01)
    with claimed(Lake(lake.as_uri()), lambda: None):
        (path,) = (lake / FOLDER).iterdir()
        os.utime(path, (0, 0))
        deadline = time.monotonic() + 10
        while path.stat().st_mtime == 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_an_owner_whose_claim_was_taken_is_told_and_takes_no_other_claim(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_claims, "RENEWED_EVERY_S", 0.01)

    def work() -> None:
        with claimed(Lake(lake.as_uri()), lambda: None):
            (path,) = (lake / FOLDER).iterdir()
            path.unlink()
            time.sleep(0.1)

    with pytest.raises(UsageError, match="another job may have begun to write: run this job again"):
        work()
    assert list((lake / FOLDER).iterdir()) == []
