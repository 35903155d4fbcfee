"""What lies in a lake beside its tables, in a real object store."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pipelines.capture.spool import PLACE_VARIABLE, Spool
from pipelines.lake import Lake, forgetting, redaction
from pipelines.lake.claims import FOLDER, Claim
from pipelines.lake.forgetting import Targets
from pipelines.lake.lock import locked, locked_in_store
from pipelines.lake.redaction import lake_key, lake_key_file
from pipelines.lake.schema_version import check_schema_version, write_schema_version
from pipelines.object_store import opened
from replica.errors import UsageError
from tests.jobs.waiting_job import said_behind_a_killed_forget
from tests.object_stores.s3_server import S3Server

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake in a bucket of the test's own."""
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    return Lake(f"s3://{server.make_bucket(f'lake-{os.urandom(4).hex()}').name}/lake")


def test_a_file_is_written_read_and_removed(lake: Lake) -> None:
    assert lake.read("_x") is None
    lake.write("_x", b"1")
    lake.write("_x", b"two")
    assert Lake(lake.place.replace("s3:", "s3a:")).read("_x") == b"two"
    lake.remove("_x")
    lake.remove("_x")
    assert lake.read("_x") is None


def test_a_replaced_folder_holds_only_the_newest_files(lake: Lake) -> None:
    lake.replace_folder("_pages", {"a.html": b"a", "b.html": b"b"})
    lake.replace_folder("_pages", {"b.html": b"new"})
    assert lake.read("_pages/a.html") is None
    assert lake.read("_pages/b.html") == b"new"
    assert lake.has_folder("_pages")
    assert not lake.has_folder("_page")


def test_a_lake_of_another_schema_version_is_refused(lake: Lake) -> None:
    check_schema_version(lake)
    write_schema_version(lake)
    check_schema_version(lake)
    lake.write("_schema_version", b"99\n")
    with pytest.raises(UsageError, match="schema version 99"):
        check_schema_version(lake)


def test_a_lake_that_is_half_forgotten_is_refused(lake: Lake) -> None:
    forgetting.begin(lake, Targets(captures=frozenset(["a"])))
    assert forgetting.begun(lake) == Targets(captures=frozenset(["a"]))
    with pytest.raises(UsageError, match="was interrupted"):
        forgetting.refuse_half_forgotten(lake)
    forgetting.end(lake)
    forgetting.refuse_half_forgotten(lake)


def test_the_redaction_key_is_made_once_and_its_copy_is_its_owners_only(
    lake: Lake, tmp_path: Path
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
    lake.write(redaction.FILE_NAME, b"")
    with pytest.raises(UsageError, match=f"^{lake}/{redaction.FILE_NAME}: empty"):
        lake_key(lake)


def test_the_spool_is_local(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLACE_VARIABLE, str(tmp_path / "spools"))
    with Spool.below(lake) as spool:
        assert spool.root.is_relative_to(tmp_path / "spools")
        assert spool.not_examined() == (str(tmp_path / "spools" / "_spool"),)
    assert list((tmp_path / "spools").iterdir()) == []


@pytest.mark.parametrize("locked", [locked, locked_in_store])
def test_a_job_waits_for_another(
    lake: Lake, locked: Callable[[Lake, Callable[[], None]], AbstractContextManager[None]]
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
    with opened(lake.place) as (store, root):
        assert Claim(store, f"{root}/{FOLDER}").take()


@pytest.mark.parametrize("job", ["build", "quality"])
def test_a_job_that_has_waited_refuses_what_a_killed_forget_left(
    lake: Lake, job: str, tmp_path: Path
) -> None:
    lake.write("bronze/captures/_delta_log/0", b"as much as shows that it is a lake")
    write_schema_version(lake)
    assert said_behind_a_killed_forget(job, str(lake), tmp_path)
