"""`ingest --follow` and `--available-now` by Spark are a stream of kraft_captures."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs import follow, ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines.lake import Lake
from pipelines.sources import register
from replica.errors import UsageError
from tests.fuzz.ingest_kills import tables
from tests.kraftlake_process import REPOSITORY

NODES = ("1", "2")

pytestmark = pytest.mark.spark


@pytest.fixture
def nodes(data: Path, tmp_path: Path) -> Path:
    """Directories of two running nodes."""
    return put(data, "live", tmp_path / "nodes")


def put(data: Path, moment: str, folder: Path) -> Path:
    """Brings the directories to the state of a recorded moment."""
    for node in NODES:
        recorded = data / "kafka-3.7.2-static" / moment / node
        shutil.copytree(recorded, folder / node, dirs_exist_ok=True)
    return folder


def options(lake: Path, nodes: Path) -> IngestOptions:
    return IngestOptions([str(nodes)], Lake(lake), available_now=True, then_build=True)


def captures_in(lake: Path) -> int:
    return DeltaTable(str(lake / "bronze" / "captures")).to_pyarrow_table().num_rows


def versions(lake: Path) -> dict[str, int]:
    logs = lake.glob("*/*/_delta_log")
    return {str(log.parent.relative_to(lake)): DeltaTable(log.parent).version() for log in logs}


@pytest.mark.slow
def test_a_row_for_each_directory_says_how_long_its_log_is(
    spark: SparkSession, nodes: Path
) -> None:
    register(spark)
    rows = spark.read.format("kraft_captures").load(str(nodes)).orderBy("directory").collect()
    logs = [nodes / node / "__cluster_metadata-0" for node in NODES]
    assert [(row.directory, row.segments, row.size_bytes) for row in rows] == [
        (str(log), len(files), sum(file.stat().st_size for file in files))
        for log in logs
        for files in [list(log.glob("*.log"))]
    ]
    assert len({row.mark for row in rows}) == len(NODES)


@pytest.mark.slow
def test_a_stream_ingests_and_builds_what_has_changed_and_goes_on_from_its_checkpoint(
    spark: SparkSession, data: Path, nodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    asked = options(lake, nodes)
    assert follow.main(spark, asked) == 0
    assert captures_in(lake) == 2
    before = versions(lake)
    assert follow.main(spark, asked) == 0
    assert versions(lake) == before
    assert "micro-batch 1" not in capsys.readouterr().err
    put(data, "final", nodes)
    assert follow.main(spark, asked) == 0
    assert "ingest: micro-batch 1: 2 changed logs" in capsys.readouterr().err
    assert captures_in(lake) == 4
    built = DeltaTable(str(lake / "gold" / "divergence_points"))
    assert built.version() > before["gold/divergence_points"]


@pytest.mark.slow
def test_an_error_of_a_micro_batch_is_its_own_line_and_the_next_stream_runs_it_again(
    spark: SparkSession, nodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"

    def refuse(*_: object) -> None:
        raise UsageError("not today")

    with monkeypatch.context() as patch:
        patch.setattr(ingest, "_write", refuse)
        with pytest.raises(UsageError, match="not today"):
            follow.main(spark, options(lake, nodes))
    assert follow.main(spark, options(lake, nodes)) == 0
    assert captures_in(lake) == 2


@pytest.mark.slow
def test_a_micro_batch_that_is_run_again_stores_nothing_twice(
    spark: SparkSession, nodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after a kill between the ingest's commits and Spark's note that it is done."""
    lake = tmp_path / "lake"
    assert follow.main(spark, options(lake, nodes)) == 0
    before, held = versions(lake), tables(lake)
    (done,) = lake.glob("_streams/*/commits/0")
    done.unlink()
    done.with_name(".0.crc").unlink(missing_ok=True)
    capsys.readouterr()
    assert follow.main(spark, options(lake, nodes)) == 0
    said = capsys.readouterr().err
    assert "ingest: micro-batch 0: the lake has it already" in said
    assert "build: nothing has changed since the last build" in said
    assert done.exists()
    assert (versions(lake), tables(lake)) == (before, held)


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [1, 4, 8])
def test_a_killed_stream_is_continued_by_the_next_one(
    spark: SparkSession, nodes: Path, tmp_path: Path, after_s: float
) -> None:
    lake = tmp_path / "lake"
    words = ["--lake", str(lake), "--available-now", "--build", "--engine", "spark", str(nodes)]
    command = [sys.executable, "-m", "jobs.cli", "ingest", *words]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, start_new_session=True
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if b"micro-batch 0" in line:
                break
        time.sleep(after_s)
        os.killpg(running.pid, signal.SIGKILL)
    assert follow.main(spark, options(lake, nodes)) == 0
    whole = tmp_path / "whole"
    whole.mkdir()
    shutil.copy(lake / "_redaction.key", whole)
    assert follow.main(spark, options(whole, nodes)) == 0
    counts = {name: len(rows) for name, rows in tables(whole).items()}
    found = {name: len(rows) for name, rows in tables(lake).items()}
    assert {name: found[name] for name in ("log_records", "log_batches")} == {
        name: counts[name] for name in ("log_records", "log_batches")
    }
    assert found["captures"] in (2, 4)  # a look at a running node is another capture


@pytest.mark.slow
def test_a_stream_ends_when_it_is_told_to(
    spark: SparkSession, data: Path, nodes: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    timer = threading.Thread(target=_change_and_stop, args=(data, nodes, lake))
    timer.start()
    asked = IngestOptions([str(nodes)], Lake(lake), follow_s=0.5)
    assert follow.main(spark, asked) == 0
    timer.join()
    assert captures_in(lake) == 4


@pytest.mark.slow
def test_a_stream_goes_on_without_a_directory_that_vanishes(
    spark: SparkSession, data: Path, nodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    timer = threading.Thread(target=_lose_one_change_and_stop, args=(data, nodes, lake))
    timer.start()
    asked = IngestOptions([str(nodes / node) for node in NODES], Lake(lake), follow_s=0.5)
    assert follow.main(spark, asked) == 0
    timer.join()
    assert captures_in(lake) == 3
    assert f"ingest: left out: {nodes / '1'}" in capsys.readouterr().err


def _lose_one_change_and_stop(data: Path, nodes: Path, lake: Path) -> None:
    wait_for_captures(lake, 2)
    (nodes / "1").rename(nodes.with_name("away"))
    time.sleep(2)
    shutil.copytree(data / "kafka-3.7.2-static" / "final" / "2", nodes / "2", dirs_exist_ok=True)
    wait_for_captures(lake, 3)
    os.kill(os.getpid(), signal.SIGTERM)


def _change_and_stop(data: Path, nodes: Path, lake: Path) -> None:
    wait_for_captures(lake, 2)
    put(data, "final", nodes)
    wait_for_captures(lake, 4)
    os.kill(os.getpid(), signal.SIGTERM)


def wait_for_captures(lake: Path, count: int) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if (lake / "bronze" / "captures" / "_delta_log").exists() and captures_in(lake) >= count:
            return
        time.sleep(0.2)


def test_a_job_without_a_stream_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--available-now"):
        follow.main(None, IngestOptions(["x"], Lake(tmp_path / "lake")))
