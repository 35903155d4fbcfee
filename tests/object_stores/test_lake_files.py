"""What lies in a lake beside its tables, in a real object store."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pipelines import forgetting, lake_files, redaction
from pipelines.capture.spool import PLACE_VARIABLE, Spool
from pipelines.forgetting import Targets
from pipelines.lake_claims import FOLDER, Claim
from pipelines.lake_lock import locked, locked_in_store
from pipelines.object_store import opened
from pipelines.redaction import lake_key, lake_key_file
from pipelines.schema_version import check_schema_version, write_schema_version
from replica.errors import UsageError
from tests.jobs.waiting_job import said_behind_a_killed_forget
from tests.object_stores.s3_server import S3Server

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """A lake in a bucket of the test's own."""
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    return f"s3://{server.make_bucket(f'lake-{os.urandom(4).hex()}').name}/lake"


def test_a_file_is_written_read_and_removed(lake: str) -> None:
    assert lake_files.read(lake, "_x") is None
    lake_files.write(lake, "_x", b"1")
    lake_files.write(lake, "_x", b"two")
    assert lake_files.read(lake.replace("s3:", "s3a:"), "_x") == b"two"
    lake_files.remove(lake, "_x")
    lake_files.remove(lake, "_x")
    assert lake_files.read(lake, "_x") is None


def test_a_folder_holds_what_it_was_last_given(lake: str) -> None:
    lake_files.replace_folder(lake, "_pages", {"a.html": b"a", "b.html": b"b"})
    lake_files.replace_folder(lake, "_pages", {"b.html": b"new"})
    assert lake_files.read(lake, "_pages/a.html") is None
    assert lake_files.read(lake, "_pages/b.html") == b"new"
    assert lake_files.has_folder(lake, "_pages")
    assert not lake_files.has_folder(lake, "_page")


def test_a_lake_of_another_schema_version_is_refused(lake: str) -> None:
    check_schema_version(lake)
    write_schema_version(lake)
    check_schema_version(lake)
    lake_files.write(lake, "_schema_version", b"99\n")
    with pytest.raises(UsageError, match="schema version 99"):
        check_schema_version(lake)


def test_a_lake_that_is_half_forgotten_is_refused(lake: str) -> None:
    forgetting.begin(lake, Targets(captures=frozenset(["a"])))
    assert forgetting.begun(lake) == Targets(captures=frozenset(["a"]))
    with pytest.raises(UsageError, match="was interrupted"):
        forgetting.refuse_half_forgotten(lake)
    forgetting.end(lake)
    forgetting.refuse_half_forgotten(lake)


def test_the_redaction_key_is_made_once_and_its_copy_is_its_owners_only(
    lake: str, tmp_path: Path
) -> None:
    copies = [tmp_path / name for name in ("first", "second")]
    paths = []
    for folder in copies:
        folder.mkdir()
        paths.append(Path(lake_key_file(lake, lake_key(lake), folder)))
    assert paths == [folder / redaction.FILE_NAME for folder in copies]
    assert len(paths[0].read_bytes()) == 32
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    lake_files.write(lake, redaction.FILE_NAME, b"")
    with pytest.raises(UsageError, match=f"^{lake}/{redaction.FILE_NAME}: empty"):
        lake_key(lake)


def test_the_spool_is_local(lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLACE_VARIABLE, str(tmp_path / "spools"))
    with Spool.below(lake) as spool:
        assert spool.root.is_relative_to(tmp_path / "spools")
        assert spool.not_examined() == (str(tmp_path / "spools" / "_spool"),)
    assert list((tmp_path / "spools").iterdir()) == []


@pytest.mark.parametrize("locked", [locked, locked_in_store])
def test_a_job_waits_for_another(
    lake: str, locked: Callable[[str, Callable[[], None]], AbstractContextManager[None]]
) -> None:
    steps: list[str] = []
    may_end = threading.Event()

    def second() -> None:
        with locked(lake, lambda: (steps.append("second waits"), may_end.set())[0]):
            steps.append("second is at work")

    with locked(lake, lambda: None):
        thread = threading.Thread(target=second)
        thread.start()
        assert may_end.wait(60)
        steps.append("first ends")
    thread.join()
    assert steps == ["second waits", "first ends", "second is at work"]
    with opened(lake) as (store, root):
        assert Claim(store, f"{root}/{FOLDER}").take()


@pytest.mark.parametrize("job", ["build", "quality"])
def test_a_job_that_has_waited_refuses_what_a_killed_forget_left(
    lake: str, job: str, tmp_path: Path
) -> None:
    lake_files.write(lake, "bronze/captures/_delta_log/0", b"as much as shows that it is a lake")
    write_schema_version(lake)
    assert said_behind_a_killed_forget(job, lake, tmp_path)
