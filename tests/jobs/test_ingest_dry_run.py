"""`kraftlake ingest --dry-run` tells what the ingest then brings in, and writes nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.lake import engines
from tests.jobs.conftest import Ended, Kraftlake

LIVE_AT, SPLIT_AT = "2026-11-21T01:00Z", "2026-11-21T02:00Z"


@pytest.fixture
def recorded(data: Path) -> Path:
    return data / "kafka-4.1.1-dynamic"


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(engines, "started_spark", started)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def batches(plan: Ended) -> int:
    return sum(part["batches"] for capture in plan.rows for part in capture["segments"])


def brought_in(ended: Ended) -> dict[str, int]:
    return {row["table"]: row["rows"] for row in ended.rows}


def test_a_plan_for_a_new_lake_names_what_the_ingest_brings_in_and_makes_no_lake(
    recorded: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lake = tmp_path / "lake"
    asked = ("ingest", "--lake", lake, "--json", recorded / "live")
    plan = kraftlake(*asked, "--dry-run")
    assert plan.code == 0
    assert not lake.exists()
    assert plan.complaints == ["ingest: dry run: 4 captures, 0.6 MB to decode; nothing was written"]
    done = kraftlake(*asked)
    assert done.code == 0
    rows = brought_in(done)
    assert rows["bronze.captures"] == len(plan.rows) == 4
    assert rows["bronze.log_batches"] == batches(plan) > 1000
    found = [snapshot for capture in plan.rows for snapshot in capture["snapshots"]]
    assert rows["bronze.snapshots"] == len(found) == 4


def test_a_plan_for_a_log_that_grew_names_the_new_bytes_alone(
    recorded: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lake = tmp_path / "lake"
    node = recorded / "live" / "1"
    assert kraftlake("ingest", "--lake", lake, "--captured-at", LIVE_AT, node).code == 0
    before = contents(lake)
    asked = ("ingest", "--lake", lake, "--captured-at", SPLIT_AT, "--json")
    plan = kraftlake(*asked, "--dry-run", recorded / "final" / "1")
    (capture,) = plan.rows
    ms = 1_795_222_800_000
    assert (capture["captured_at"], capture["follows"]) == (ms + 3_600_000, ms)
    first = capture["segments"][0]
    assert 0 < first["start"] < first["end"]
    assert contents(lake) == before, "nothing was written"
    done = kraftlake(*asked, recorded / "final" / "1")
    assert brought_in(done)["bronze.log_batches"] == batches(plan)

    again = kraftlake(*asked, "--dry-run", recorded / "final" / "1")
    assert (again.code, again.lines) == (0, [])
    assert again.complaints == ["ingest: dry run: nothing new: the lake has all of it"]


def test_rounds_of_an_order_plan_each_batch_once(
    recorded: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    folder = tmp_path / "incident"
    for name in ("live", "split"):
        shutil.copytree(recorded / name / "1", folder / name / "1")
    asked = ("ingest", "--lake", tmp_path / "lake", "--order", "live,split", "--json", folder)
    plan = kraftlake(*asked, "--dry-run")
    assert [(row["round"], row["round_name"]) for row in plan.rows] == [(1, "live"), (2, "split")]
    assert brought_in(kraftlake(*asked))["bronze.log_batches"] == batches(plan)


def test_a_damaged_place_is_told_and_ends_with_1(
    recorded: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    node = Path(shutil.copytree(recorded / "live" / "1", tmp_path / "1"))
    segment = node / "__cluster_metadata-0" / f"{0:020d}.log"
    damaged = bytearray(segment.read_bytes())
    damaged[5000] ^= 0xFF
    segment.write_bytes(damaged)
    asked = ("ingest", "--lake", tmp_path / "lake", "--dry-run", node)
    plan = kraftlake(*asked)
    assert plan.code == 1
    assert "1 damaged place; nothing was written" in plan.complaints[-1]
    assert kraftlake(*asked, "--accept-damage").code == 0


def test_people_read_a_line_for_each_file_with_something_new(
    recorded: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    plan = kraftlake("ingest", "--lake", tmp_path / "lake", "--dry-run", recorded / "live" / "1")
    head, _, *lines = plan.lines
    assert head.split() == ["node", "captured_at", "file", "bytes", "offsets", "batches"]
    assert any("00000000000000000000.log" in line and "[0, " in line for line in lines)


@pytest.mark.parametrize(
    "other", [("--build",), ("--follow", "5"), ("--available-now",)], ids=lambda o: str(o[0])
)
def test_options_that_write_are_refused_with_dry_run(
    other: tuple[Any, ...], recorded: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lake = tmp_path / "lake"
    ended = kraftlake("ingest", "--lake", lake, "--dry-run", *other, recorded / "live" / "1")
    assert ended.code == 2
    assert ended.error == f"--dry-run and {other[0]} exclude each other: take one"


def test_a_folder_that_is_no_lake_is_refused(
    recorded: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    (tmp_path / "note").write_text("mine")
    ended = kraftlake("ingest", "--lake", tmp_path, "--dry-run", recorded / "live" / "1")
    assert ended.code == 2
    assert ended.error
