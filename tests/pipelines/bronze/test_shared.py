"""Directories that tasks read in their place: the same rows as by copies, and nothing wrong where
somebody writes to them meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines.capture import captures as captures_module
from pipelines.capture import in_place, spool
from pipelines.capture.in_place import ChangedFileError, FileStamp
from pipelines.lake import Lake
from pipelines.runners.local import LocalRunner
from pipelines.runners.spark import SparkRunner
from replica.errors import UsageError
from replica.format.file_names import METADATA_FOLDER
from tests import rights
from tests.fuzz.ingest_kills import tables
from tests.pipelines.bronze.test_ways import captures, lakes_of_one_key
from tests.pipelines.growing import grow
from tests.pipelines.lake_rows import rows

__all__ = ["captures"]  # a fixture
LOG = f"{0:020d}.log"
AT = "2026-11-21T01:00Z"
Start = Callable[[], AbstractContextManager[Any]]


@pytest.fixture(
    params=["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]
)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each engine: tasks are threads of this process, or processes of Spark's."""
    if request.param == "spark":
        spark: SparkSession = request.getfixturevalue("spark")
        monkeypatch.setattr(ingest, "runner_of", lambda *_: nullcontext(SparkRunner.of(spark)))
    else:
        monkeypatch.setattr(ingest, "runner_of", lambda *_: nullcontext(LocalRunner(at_once=3)))
    return str(request.param)


@pytest.fixture
def no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever copies a file into a spool fails."""

    def refuse(*_: object) -> int:
        raise AssertionError("a file was copied")

    monkeypatch.setattr(spool.Copying, "_copy", refuse)


def _ingested(lake: Path, *paths: object, at: str | None = AT, **options: Any) -> int:
    about = IngestOptions([*map(str, paths)], Lake(lake), captured_at=at, **options)
    return ingest.run(about)


@pytest.mark.parametrize("form", ["paths", pytest.param("URIs", marks=pytest.mark.slow)])
def test_tables_are_those_of_copies_also_of_damaged_and_late_captures(
    form: str, captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied, shared = lakes_of_one_key(tmp_path, "copied", "shared")
    head = "file://" if form == "URIs" else ""
    for name, hour in (("final", 5), ("live", 1), ("split", 3)):
        about = {"at": f"2026-11-21T0{hour}:00Z", "accept_damage": True}
        _ingested(copied, f"{head}{captures / name}", **about)
        with monkeypatch.context() as patch:
            patch.setattr(spool.Copying, "_copy", lambda *_: pytest.fail("a file was copied"))
            _ingested(shared, f"{head}{captures / name}", shared=True, **about)
    found, wanted = tables(shared), tables(copied)
    assert {name: len(some) for name, some in found.items()} == {
        name: len(some) for name, some in wanted.items()
    }
    assert found == wanted
    assert any("'record'" in row for row in found["damage"])


def test_both_engines_read_in_their_place_what_grows_and_only_its_new_bytes(
    engine: str,
    data: Path,
    tmp_path: Path,
    no_copies: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    nodes = tmp_path / "nodes"
    shutil.copytree(data / "kafka-3.7.2-static/final", nodes)
    lake = tmp_path / "lake"
    assert _ingested(lake, nodes, shared=True) == 0
    new = grow(nodes / "1", 40_000)
    capsys.readouterr()
    assert _ingested(lake, nodes, at="2026-11-21T02:00Z", shared=True) == 0
    told = capsys.readouterr()
    assert [line.split()[-1] for line in told.out.splitlines() if "log_records" in line] == [
        str(new)
    ]
    read, held = (float(word) for word in told.err.split()[-5:] if word.replace(".", "").isdigit())
    assert read < held / 2
    capsys.readouterr()
    assert _ingested(lake, nodes, at="2026-11-21T03:00Z", shared=True) == 0
    assert "nothing new" in capsys.readouterr().err


def _append(file: Path) -> None:
    with file.open("ab") as out:
        out.write(b"\0")


def _replace(file: Path) -> None:
    """By another file of the same size and time."""
    status = file.stat()
    other = file.with_name("other")
    other.write_bytes(bytes(status.st_size))
    in_place.os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(file)


def _make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("change", [_append, _replace, Path.unlink, _make_folder])
def test_a_file_that_changes_between_look_and_task_leaves_its_capture_out(
    change: Callable[[Path], None],
    engine: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The other cluster's capture comes in, and the next ingest brings what was left out."""
    one, other = _two_clusters(data, tmp_path)
    log = one / METADATA_FOLDER / LOG
    kept = log.read_bytes()
    lake = tmp_path / "lake"
    with monkeypatch.context() as patch:
        patch.setattr(ingest, "_write", _after(ingest._write, lambda: change(log)))
        assert _ingested(lake, one, other, shared=True) == 1
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert "java" not in told.err
    lines = [line for line in told.err.splitlines() if str(log) in line]
    assert len(lines) == 1, told.err
    assert "left out" in lines[0]
    ((damage),) = rows(lake, "SELECT capture_id, file, kind FROM bronze.damage")
    assert (damage.capture_id, damage.file, damage.kind) == (None, str(log), "changed-while-read")
    assert _sources(lake) == {str(other / METADATA_FOLDER)}
    if log.is_dir():
        log.rmdir()
    log.write_bytes(kept)
    assert _ingested(lake, one, other, at="2026-11-21T02:00Z", shared=True) == 0
    assert _sources(lake) == {str(node / METADATA_FOLDER) for node in (one, other)}
    whole = tmp_path / "whole"
    _ingested(whole, one, other)
    query = "SELECT count(*) AS n FROM bronze.log_records"
    assert rows(lake, query) == rows(whole, query)


def _two_clusters(data: Path, tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "nodes" / "one", tmp_path / "nodes" / "other"
    shutil.copytree(data / "kafka-3.7.2-static/final/1", one)
    shutil.copytree(data / "kafka-4.1.1-dynamic/final/1", other)
    return one, other


def _sources(lake: Path) -> set[str]:
    return {row.source for row in rows(lake, "SELECT source FROM bronze.captures")}


def _after(function: Callable[..., Any], change: Callable[[], None]) -> Callable[..., Any]:
    def changed(*some: Any) -> Any:
        change()
        return function(*some)

    return changed


def test_a_folder_in_a_file_s_place_is_a_row_of_damage_and_one_line(
    engine: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node, other = _two_clusters(data, tmp_path)
    log = node / METADATA_FOLDER / f"{10**6:020d}.log"
    log.mkdir()
    assert _ingested(tmp_path / "lake", node, other, shared=True) == 1
    told = capsys.readouterr().err
    assert [line for line in told.splitlines() if str(log) in line] == [
        f"{log}: byte 0: unreadable: not a regular file"
    ]
    assert "Traceback" not in told
    ((damage),) = rows(tmp_path / "lake", "SELECT file, kind FROM bronze.damage")
    assert (damage.file, damage.kind) == (str(log), "unreadable")
    assert len(_sources(tmp_path / "lake")) == 2


@rights.needs_linux
@pytest.mark.parametrize("by", ["local", pytest.param("spark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("option", [[], ["--shared"]], ids=["copied", "shared"])
def test_a_file_that_may_not_be_read_is_a_row_of_damage_and_one_line(
    option: list[str], by: str, data: Path, tmp_path: Path
) -> None:
    node, other = _two_clusters(data, tmp_path)
    log = node / METADATA_FOLDER / LOG
    log.chmod(0)
    lake = tmp_path / "lake"
    about = ("--lake", lake, "--captured-at", AT, "--engine", by, *option)
    ended = rights.kraftlake("ingest", *about, node, other)
    assert ended.returncode == 1
    assert [line for line in ended.stderr.splitlines() if str(log) in line] == [
        f"{log}: byte 0: unreadable: Permission denied"
    ]
    assert "Traceback" not in ended.stderr
    assert "java" not in ended.stderr.replace("KRAFTLAKE_JAVA", "")
    damages = rows(lake, "SELECT file, kind FROM bronze.damage")
    assert (damages[0].file, damages[0].kind) == (str(log), "unreadable")
    assert len(_sources(lake)) == 2


def test_a_directory_that_is_gone_when_a_task_looks_is_left_out(
    engine: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    node, other = _two_clusters(data, tmp_path)
    gone = _after(captures_module.captures_in_place, lambda: shutil.rmtree(node))
    monkeypatch.setattr(captures_module, "captures_in_place", gone)
    assert _ingested(tmp_path / "lake", node, other, shared=True) == 1
    shown = str(node / METADATA_FOLDER)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if shown in line]
    assert "left out" in line
    assert _sources(tmp_path / "lake") == {str(other / METADATA_FOLDER)}


@pytest.mark.spark
def test_executors_read_the_files_and_the_driver_none(
    spark: SparkSession, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "runner_of", lambda *_: nullcontext(SparkRunner.of(spark)))
    for module, name in ((in_place, "open_own_file"), (in_place.os, "stat")):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, _refusing(real, METADATA_FOLDER, ".log"))
    assert _ingested(tmp_path / "lake", data / "kafka-4.1.1-dynamic/final", shared=True) == 0


def _refusing(real: Callable[..., Any], *parts: str) -> Callable[..., Any]:
    def refuse(path: Any, *some: Any, **options: Any) -> Any:
        assert not all(part in str(path) for part in parts), f"the driver reads {path}"
        return real(path, *some, **options)

    return refuse


def test_two_captures_of_one_replica_are_refused_and_ordered_as_by_copies(
    data: Path, tmp_path: Path, no_copies: None
) -> None:
    names = ("live", "split")
    paths = [data / "kafka-3.7.2-static" / name for name in names]
    with pytest.raises(UsageError, match="captures of the same replica"):
        _ingested(tmp_path / "lake", *paths, at=None, shared=True)
    assert _ingested(tmp_path / "lake", *paths, at=None, order=",".join(names), shared=True) == 0
    query = "SELECT round_name, ingest_seq FROM bronze.captures"
    found = {(row.round_name, row.ingest_seq) for row in rows(tmp_path / "lake", query)}
    assert found == {("live", 1), ("split", 2)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"some bytes")
    return path


@pytest.mark.parametrize("change", [_append, _replace, Path.unlink])
@pytest.mark.parametrize("head", ["", "file://"])
def test_a_stamp_tells_that_a_file_was_changed(
    change: Callable[[Path], None], head: str, file: Path
) -> None:
    path = f"{head}{file}"
    stamp = FileStamp.of(path)
    stamp.check(path)
    if (change, head) == (_replace, "file://"):
        return  # such a store tells size and time alone
    change(file)
    with pytest.raises(ChangedFileError):
        stamp.check(path)


class _Object:
    """An open object, with what a store tells of it as pyarrow gives it."""

    def __init__(self, about: dict[Any, bytes]) -> None:
        self._about = about

    def metadata(self) -> dict[Any, bytes]:
        return self._about


@pytest.mark.parametrize("key", ["ETag", b"etag"])
def test_an_object_s_etag_is_part_of_its_stamp(key: str | bytes) -> None:
    assert in_place.etag_of(_Object({"Content-Length": b"3", key: b'"abc"'})) == '"abc"'
    assert in_place.etag_of(_Object({"Content-Length": b"3"})) == ""
