"""Unredacted bytes are their owner's only, and copies of them don't outlive their ingest."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from jobs.cli.directories.check_inputs import find_inputs
from jobs.cli.directories.dump_files import WantedFiles, find_files
from pipelines.capture import spool as spools
from pipelines.capture.capture import CaptureOptions
from pipelines.capture.captures import capture_paths
from pipelines.capture.private import make_folder
from pipelines.capture.spool import PLACE_VARIABLE, Spool
from pipelines.lake import Lake
from pipelines.lake.lock import locked, locked_in_store
from replica.errors import UsageError
from replica.storage.filesystem import LocalDisk
from tests.pipelines.capture.test_taking import LIVE, capture

REPOSITORY = Path(__file__).parents[3]
LEFT = "0123456789abcdef" * 2
"""A spool's name."""


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    """By which files are everybody's to read unless they are made otherwise."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> set[str]:
    """Of the folder and all below it."""
    return {stat.filemode(path.lstat().st_mode) for path in (folder, *folder.rglob("*"))}


PRIVATE = {"drwx------", "-rw-------"}


def test_a_capture_is_its_owners_only(data: Path, tmp_path: Path) -> None:
    capture(data / LIVE / "1", tmp_path / "capture")
    assert modes(tmp_path / "capture") == PRIVATE


def test_a_capture_to_a_uri_is_its_owners_only(data: Path, tmp_path: Path) -> None:
    capture(data / LIVE / "1", (tmp_path / "capture").as_uri())
    assert modes(tmp_path / "capture") == PRIVATE


def test_a_folder_that_was_there_before_keeps_its_mode(data: Path, tmp_path: Path) -> None:
    capture_folder, log_folder = tmp_path / "capture", tmp_path / "log"
    for folder in (capture_folder, log_folder):
        folder.mkdir()
        folder.chmod(0o750)
    capture(data / LIVE / "1", capture_folder)
    LocalDisk().make_directory(str(log_folder))
    make_folder(log_folder)
    for folder in (capture_folder, log_folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert modes(capture_folder) == {"drwxr-x---", *PRIVATE}


def test_the_folder_in_which_a_bundle_is_unpacked_is_its_owners_only(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "bundle.tar.gz"
    with tarfile.open(bundle, "w:gz") as archive:
        archive.add(data / LIVE / "2", "2")
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    with ExitStack() as stack:
        find_inputs([str(bundle)], (), stack)
        find_files([str(bundle)], WantedFiles(), stack)
        made = list((tmp_path / "scratch").iterdir())
        assert [stat.S_IMODE(folder.stat().st_mode) for folder in made] == [0o700, 0o700]
    assert not any((tmp_path / "scratch").iterdir())


def test_a_spool_is_its_owners_only_whatever_it_copies(data: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.tar.gz"
    with tarfile.open(bundle, "w:gz") as archive:
        archive.add(data / LIVE / "2", "2")
    remote = Path(shutil.copytree(data / LIVE / "3", tmp_path / "remote" / "3")).parent.as_uri()
    (tmp_path / "lake" / "_spool").mkdir(parents=True)  # as a release before this one made it
    with Spool.below(Lake(tmp_path / "lake")) as spool:
        captures = capture_paths(
            [str(data / LIVE / "1"), str(bundle), remote], CaptureOptions(), spool
        )
        assert len(captures.rounds[0][0].captures) == 3
        assert modes(tmp_path / "lake" / "_spool") == PRIVATE


Lock = Callable[[Lake, Callable[[], None]], AbstractContextManager[None]]


def never() -> None:
    raise AssertionError("the lake is free")


@pytest.mark.parametrize("lock", [locked, locked_in_store])
def test_the_next_command_that_writes_removes_the_spool_of_a_killed_ingest(
    lock: Lock, tmp_path: Path
) -> None:
    (tmp_path / "_spool" / LEFT / "00001").mkdir(parents=True)
    (tmp_path / "_spool" / LEFT / "00001" / "quorum-state").write_text("{}")
    with lock(Lake(tmp_path), never):
        assert not (tmp_path / "_spool").exists()


def test_a_command_that_waits_for_nobody_leaves_the_spool_of_an_ingest_at_work(
    tmp_path: Path,
) -> None:
    code = (
        "import sys\nfrom pipelines.capture.spool import Spool\n"
        "from pipelines.lake import Lake\nfrom pipelines.lake.lock import locked\n"
        "lake = Lake(sys.argv[1])\nwith locked(lake, print), Spool.below(lake) as spool:\n"
        "    print(spool.root, flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        root = Path(process.stdout.readline().strip())
        with locked_in_store(Lake(tmp_path), never):
            assert root.is_dir()
        process.kill()
        process.wait()
        assert root.is_dir()
        with locked(Lake(tmp_path), never):
            assert not root.exists()


def test_only_spools_are_removed(tmp_path: Path) -> None:
    (tmp_path / "_spool" / "notes").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "_spool" / LEFT).symlink_to(tmp_path / "elsewhere")
    with locked(Lake(tmp_path), never):
        assert (tmp_path / "_spool" / "notes").is_dir()
        assert (tmp_path / "elsewhere").is_dir()


def test_a_link_in_the_place_of_the_spools_is_refused_and_nothing_behind_it_removed(
    tmp_path: Path,
) -> None:
    (tmp_path / "elsewhere" / LEFT).mkdir(parents=True)
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "_spool").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(UsageError, match="_spool is a symbolic link"),
        locked(Lake(lake), never),
        Spool.below(Lake(lake)),
    ):
        pass
    assert (tmp_path / "elsewhere" / LEFT).is_dir()


def test_the_place_of_the_spools_of_object_stores_is_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger may have made it first: its name is known, and everybody may write to /tmp."""
    monkeypatch.delenv(PLACE_VARIABLE, raising=False)
    monkeypatch.setattr(spools.tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / "mine").mkdir()
    (tmp_path / f"kraftlake-{os.getuid()}").symlink_to(tmp_path / "mine")
    with pytest.raises(UsageError, match=f"kraftlake-{os.getuid()}: a link"):
        spools.local_place(Lake("s3://bucket/lake"))


def test_spools_of_an_object_store_go_by_that_stores_lock_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PLACE_VARIABLE, str(tmp_path))
    roots = {}
    for lake in ("s3://bucket/one", "s3a://bucket/two"):
        roots[lake] = Spool.below(Lake(lake)).root
        roots[lake].mkdir(parents=True)
    spools.remove_left_over(Lake("s3a://bucket/one"))
    assert [root.is_dir() for root in roots.values()] == [False, True]
