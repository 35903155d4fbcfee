"""`build --follow` builds whenever an ingest has changed the lake, and at no other look."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobs import build
from jobs.cli.commands.lake import BuildOptions
from pipelines.lake import Lake
from replica.errors import BusyError
from tests.kraftlake_process import kraftlake


def ingested(lake: Path, *nodes: Path) -> None:
    done = kraftlake("ingest", "--lake", str(lake), *map(str, nodes))
    assert done.returncode == 0, done.stderr


def looked(monkeypatch: pytest.MonkeyPatch, *changes: Callable[[], object]) -> None:
    """Each wait for the next look brings one of the changes, and the last wait the end."""
    left = [*changes]

    class Waiting(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout == 9
            if left:
                left.pop(0)()
                return False
            self.set()
            return True

    @contextmanager
    def stop_requested() -> Iterator[threading.Event]:
        yield Waiting()

    monkeypatch.setattr(build, "stop_requested", stop_requested)


@pytest.mark.slow
def test_a_build_follows_each_ingest_and_nothing_else(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, built = tmp_path / "lake", []
    nodes = data / "kafka-3.7.2-static" / "final"
    ingested(lake, nodes / "1")
    build_tables = build.build_tables

    def counted(spark: None, arguments: BuildOptions, progress: None) -> dict[str, int]:
        built.append(build_tables(spark, arguments, progress))
        return built[-1]

    monkeypatch.setattr(build, "build_tables", counted)
    looked(monkeypatch, lambda: None, lambda: ingested(lake, nodes / "2"), lambda: None)
    assert build.run(BuildOptions(Lake(str(lake)), follow_s=9)) == 0
    assert len(built) == 2
    assert built[1]["silver.leader_epochs"] > built[0]["silver.leader_epochs"]


def test_another_writer_is_waited_for_until_the_next_look(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lake, calls = tmp_path / "lake", []
    ingested(lake, data / "kafka-3.7.2-static" / "final" / "1")

    def busy(spark: None, arguments: BuildOptions, progress: None) -> dict[str, int]:
        calls.append(arguments.lake)
        if len(calls) == 1:
            raise BusyError("another writer is at work")
        return {"silver.leader_epochs": 1}

    monkeypatch.setattr(build, "build_tables", busy)
    looked(monkeypatch, lambda: None)
    assert build.run(BuildOptions(Lake(str(lake)), follow_s=9)) == 0
    assert len(calls) == 2
    assert "another writer is at work; trying again" in capfd.readouterr().err


def test_follow_excludes_a_run_id(tmp_path: Path) -> None:
    run_id = "11111111-1111-1111-1111-111111111111"
    lake = str(tmp_path / "lake")
    done = kraftlake("build", "--lake", lake, "--follow", "60", "--run-id", run_id)
    assert done.returncode == 2
    assert "--run-id" in done.stderr
