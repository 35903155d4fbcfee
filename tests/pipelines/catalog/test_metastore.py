"""Which folders an embedded metastore is made in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.catalog.metastore import METASTORE, check_catalog_folder, held_catalog
from replica.errors import BusyError, UsageError


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_a_folder_that_holds_other_things_is_refused(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "orders.csv").touch()
    (tmp_path / "derby.log").touch()
    with pytest.raises(
        UsageError, match=r": holds orders\.csv, and no metastore: name an empty or"
    ):
        check_catalog_folder(f"{prefix}{tmp_path}")


def test_a_metastore_and_an_empty_folder_are_taken(tmp_path: Path) -> None:
    check_catalog_folder(str(tmp_path / "none"))
    check_catalog_folder(str(tmp_path))
    (tmp_path / "derby.log").touch()
    check_catalog_folder(str(tmp_path))
    (tmp_path / "metastore_db").mkdir()
    (tmp_path / "orders.csv").touch()
    check_catalog_folder(str(tmp_path))


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """What Derby leaves that is killed while it makes a database."""
    database = tmp_path / METASTORE
    for name in ("log", "seg0", "tmp"):
        (database / name).mkdir(parents=True)
    for name in ("db.lck", "dbex.lck", "README_DO_NOT_TOUCH_FILES.txt", "seg0/c10.dat"):
        (database / name).write_text("x")
    return database


def test_a_database_that_was_never_finished_is_made_anew(unfinished: Path) -> None:
    """Derby says only that the folder is there already."""
    with held_catalog(str(unfinished.parent)):
        assert not unfinished.exists()
        unfinished.mkdir()
    with held_catalog(str(unfinished.parent)):
        assert not unfinished.exists()


@pytest.mark.parametrize("name", ["service.properties", "orders.csv"])
def test_a_finished_database_and_what_is_none_stay(unfinished: Path, name: str) -> None:
    (unfinished / name).touch()
    with held_catalog(str(unfinished.parent)):
        assert (unfinished / "seg0/c10.dat").exists()


def test_a_database_that_another_process_is_making_stays(unfinished: Path) -> None:
    code = (
        "import fcntl, sys; lock = open(sys.argv[1], 'r+b'); fcntl.lockf(lock, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, unfinished / "dbex.lck"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(BusyError, match="is open in another process"),
            held_catalog(str(unfinished.parent)),
        ):
            pass
        other.communicate("")
    assert (unfinished / "seg0/c10.dat").exists()


def test_one_process_at_a_time_has_the_folder(tmp_path: Path) -> None:
    with (
        held_catalog(str(tmp_path)),
        pytest.raises(BusyError, match="wait for its end"),
        held_catalog(str(tmp_path)),
    ):
        pass
