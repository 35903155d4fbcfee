"""`ingest --follow` looks at the files again and again, and ingests whenever a log has changed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines.lake import Lake
from pipelines.sources import marks
from pipelines.sources.marks import follow
from pipelines.tables.bronze import CAPTURES
from replica.format import discovery
from tests.kraftlake_process import REPOSITORY, command_line
from tests.pipelines.growing import grow, large_node, last_segment
from tests.pipelines.lake_rows import rows_of

_LOG = f"__cluster_metadata-0/{0:020d}.log"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / _LOG
    path.parent.mkdir()
    path.write_bytes(b"one batch")
    return path


def looks_after(paths: list[Path], *changes: Callable[[], object]) -> int:
    """How often the ingest is called, where each wait for the next look brings one of the changes,
    and the last wait the end."""
    left, calls = [*changes], []

    class Waiting(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout == 9
            if left:
                left.pop(0)()
            else:
                self.set()
            return self.is_set()

    stop = Waiting()
    follow([str(path) for path in paths], lambda: calls.append(1), 9, stop)
    return len(calls)


def test_the_first_look_ingests_and_no_other_where_nothing_changes(log: Path) -> None:
    assert looks_after([log.parent]) == 1
    assert looks_after([log.parent], lambda: None, lambda: None) == 1


def test_a_log_that_grew_came_went_or_was_replaced_is_ingested_again(log: Path) -> None:
    new = log.with_name(f"{9:020d}.log")

    def replace() -> None:
        size, at = log.stat().st_size, log.stat().st_mtime_ns
        other = log.with_suffix(".new")
        other.write_bytes(b"x" * size)
        os.utime(other, ns=(at, at))
        other.rename(log)

    def rewrite() -> None:
        log.write_bytes(b"z" * log.stat().st_size)
        os.utime(log, ns=(1, 1))

    changes = [
        lambda: log.write_bytes(b"two batches"),
        lambda: new.write_bytes(b"a segment"),
        new.unlink,
        replace,
        rewrite,
    ]
    for number in range(len(changes) + 1):
        assert looks_after([log.parent], *changes[:number]) == 1 + number
        log.write_bytes(b"one batch")


def test_a_path_that_vanishes_and_comes_back_does_not_end_the_follower(log: Path) -> None:
    folder, away = log.parent, log.parent.with_name("away")
    changes = [lambda: folder.rename(away), lambda: None, lambda: away.rename(folder)]
    assert looks_after([folder], *changes) == 3


def test_records_written_during_an_ingest_are_left_to_the_next_one(log: Path) -> None:
    stop, calls = threading.Event(), []

    def ingest() -> None:
        calls.append(1)
        if len(calls) == 1:
            log.write_bytes(b"two batches")
        else:
            stop.set()

    follow([str(log.parent)], ingest, 0.001, stop)
    assert len(calls) == 2


def test_an_error_of_the_ingest_ends_the_follower(log: Path) -> None:
    def ingest() -> None:
        raise ValueError("the disk is full")

    with pytest.raises(ValueError, match="the disk is full"):
        follow([str(log.parent)], ingest, 9, threading.Event())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_growing_log_is_followed_without_spark_until_it_is_told_to_stop(
    data: Path, tmp_path: Path, number: int
) -> None:
    node, lake = large_node(data, tmp_path / "1", 100_000), tmp_path / "lake"
    command = command_line("ingest", "--lake", lake, "--follow", "0.1", "--json", node)
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = [_up_to_the_end_of_a_look(process)]
        new = _grow_at_once(node, tmp_path)
        said.append(_up_to_the_end_of_a_look(process))
        process.send_signal(number)
        out, rest = process.communicate(timeout=120)
    assert process.returncode == 0
    assert rest == "ingest: stopped: run the same command again, which goes on\n"
    assert "starting Spark" not in "".join(said)
    rows = {row["table"]: row["rows"] for row in map(json.loads, out.splitlines())}
    assert rows["bronze.captures"] == 2
    assert rows["bronze.log_records"] > new > 100


def test_a_follower_lists_each_path_once_for_its_ingest_and_goes_on_without_one_that_is_gone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, lake = tmp_path / "nodes", Lake(tmp_path / "lake")
    for node in ("1", "2"):
        shutil.copytree(data / "kafka-3.7.2-static" / "live" / node, nodes / node)
    asked = IngestOptions([str(nodes / "1"), str(nodes / "2")], lake, follow_s=9)
    listed: list[str] = []
    search = discovery._Search.run

    def counted(self: discovery._Search, path: str) -> Iterator[discovery.DiscoveredPath]:
        listed.append(path)
        return search(self, path)

    def follow_once(*arguments: Any) -> None:
        stop = threading.Event()
        monkeypatch.setattr(stop, "wait", lambda _: stop.set())
        follow(*arguments[:3], stop)

    monkeypatch.setattr(discovery._Search, "run", counted)
    monkeypatch.setattr(marks, "follow", follow_once)
    assert ingest.run(asked) == 0
    by_start, by_follower, by_ingest = [*asked.paths], [*asked.paths], [*asked.paths]
    assert listed == [*by_start, *by_follower, *by_ingest]

    def lose_one(*arguments: Any) -> None:
        (nodes / "1").rename(tmp_path / "away")
        shutil.rmtree(lake.folder)
        follow_once(*arguments)

    capsys.readouterr()
    monkeypatch.setattr(marks, "follow", lose_one)
    assert ingest.run(asked) == 0
    assert f"ingest: left out: {nodes / '1'}: no such file or directory" in capsys.readouterr().err
    (capture,) = rows_of(lake.folder, CAPTURES)
    assert capture.node_id == 2


def test_a_follower_waits_where_no_path_is_there(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, lake = tmp_path / "1", Lake(tmp_path / "lake")
    shutil.copytree(data / "kafka-3.7.2-static" / "live" / "1", node)

    def lose_it(paths: list[str], work: Callable[[], None], *_: object) -> None:
        node.rename(tmp_path / "away")
        work()

    monkeypatch.setattr(marks, "follow", lose_it)
    assert ingest.run(IngestOptions([str(node)], lake, follow_s=9)) == 0
    assert not (lake.folder / "bronze").exists()


def _grow_at_once(node: Path, folder: Path) -> int:
    """How many records: all in one write, so that no look finds a part of a batch."""
    log = last_segment(node)
    held, copy = log.read_bytes(), folder / "copy"
    shutil.copytree(node, copy)
    new = grow(copy, 50_000)
    with log.open("ab", buffering=0) as out:
        out.write(last_segment(copy).read_bytes()[len(held) :])
    return new


def _up_to_the_end_of_a_look(process: subprocess.Popen[str]) -> str:
    """What it says on stderr, up to how much was read."""
    assert process.stderr is not None
    said = ""
    while "ingest: read " not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    return said
