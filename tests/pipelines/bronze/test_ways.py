"""An ingest's rows are the same whether Spark's tasks make them or this process does."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines.bronze import batch_windows, log_ranges, new_records
from pipelines.lake import Lake
from pipelines.runners.local import LocalRunner
from pipelines.runners.spark import SparkRunner
from replica.scan.segments import scan
from tests.fuzz.ingest_kills import tables
from tests.replica.format.encoded import encode_batch

NODES = ("1", "2", "3", "11")


def segments(node: Path) -> list[Path]:
    return sorted((node / "__cluster_metadata-0").glob("*.log"))


def flip(path: Path, *positions: int) -> None:
    data = bytearray(path.read_bytes())
    for position in positions:
        data[position] ^= 0xFF
    path.write_bytes(data)


def with_undecodable_records(path: Path) -> None:
    data = path.read_bytes()
    last = scan(data, start=0, expected_offset=int(path.name[:20])).batches[-1].header
    path.write_bytes(
        data
        + encode_batch(
            base_offset=last.next_offset,
            leader_epoch=last.leader_epoch,
            records=b"\x02",
            record_count=2,
            last_offset_delta=1,
            base_timestamp=0,
            max_timestamp=0,
        )
    )


@pytest.fixture(scope="module")
def captures(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three moments of a recorded cluster: batches damaged that others have whole, a torn end,
    records that don't decode, a deleted segment, and a damaged snapshot."""
    folder = tmp_path_factory.mktemp("captures")
    recorded = data / "kafka-4.1.1-dynamic"
    for name in ("live", "split", "final"):
        for node in NODES:
            shutil.copytree(recorded / name / node, folder / name / node)
    flip(segments(folder / "split" / "1")[0], 200, 5000, 30_000, 60_000)
    torn = segments(folder / "split" / "3")[-1]
    torn.write_bytes(torn.read_bytes()[:-37])
    with_undecodable_records(segments(folder / "final" / "11")[-1])
    deleted = segments(folder / "final" / "2")[0]
    deleted.rename(f"{deleted}.deleted")
    snapshots = sorted((folder / "final" / "1" / "__cluster_metadata-0").glob("*.checkpoint"))
    flip(snapshots[-1], 3000, 40_000)
    return folder


def ingested(lake: Path, captures: Path, *options: str) -> dict[str, list[str]]:
    """The tables once `final` and then, late, the two moments before it are in the lake."""
    for name, hour in (("final", 5), ("live", 1), ("split", 3)):
        ingest.run(
            IngestOptions(
                [str(captures / name)],
                Lake(lake),
                captured_at=f"2026-11-21T0{hour}:00Z",
                keep_secrets="--keep-secrets" in options,
            )
        )
    return tables(lake)


@pytest.mark.spark
@pytest.mark.slow  # 20 s each; .ci/run runs them behind `make test`
@pytest.mark.parametrize("options", [(), ("--keep-secrets",)], ids=["redacted", "secrets"])
def test_tasks_and_this_process_make_the_same_tables(
    options: tuple[str, ...],
    spark: SparkSession,
    captures: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, by_tasks = lakes_of_one_key(tmp_path, "here", "by tasks")
    found = ingested(here, captures, *options)
    monkeypatch.setattr(ingest, "runner_of", lambda *_: nullcontext(SparkRunner.of(spark)))
    wanted = ingested(by_tasks, captures, *options)
    assert {name: len(rows) for name, rows in found.items()} == {
        name: len(rows) for name, rows in wanted.items()
    }
    assert found == wanted
    assert any("'record'" in row for row in found["damage"])


@pytest.mark.slow  # 10 s; .ci/run runs them behind `make test`
def test_small_pieces_and_large_ones_make_the_same_tables(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces, whole = lakes_of_one_key(tmp_path, "pieces", "whole")
    wanted = ingested(whole, captures)
    in_small_pieces(monkeypatch)
    found = ingested(pieces, captures)
    assert found == wanted
    versions = [
        DeltaTable(str(lake / "bronze" / "log_batches")).version() for lake in (pieces, whole)
    ]
    assert versions[0] > versions[1] + 3


def test_a_capture_of_the_past_changes_the_rows_of_every_window(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces, whole = lakes_of_one_key(tmp_path, "pieces", "whole")
    for lake in (whole, pieces):
        for name, hour in (("split", 5), ("live", 3)):
            node, at = str(captures / name / "1"), f"2026-11-21T0{hour}:00Z"
            ingest.run(IngestOptions([node], Lake(lake), captured_at=at, accept_damage=True))
        monkeypatch.setattr(batch_windows, "MOST_ROWS", 50)
    found = tables(pieces)
    assert found == tables(whole)
    assert len(found["log_batches"]) > 4 * 50


def lakes_of_one_key(folder: Path, *names: str) -> list[Path]:
    """Folders with a key each, or every hash would be another."""
    lakes = [folder / name for name in names]
    for lake in lakes:
        lake.mkdir()
        (lake / "_redaction.key").write_bytes(b"k" * 32)
    return lakes


def in_small_pieces(patch: pytest.MonkeyPatch) -> None:
    """Ranges of 32 KiB, a commit for each four of them, windows of 200 rows, three threads."""
    patch.setattr(log_ranges, "_WORTH_A_TASK_BYTES", 32 * 1024)
    patch.setattr(log_ranges, "MOST_RANGE_BYTES", 32 * 1024)
    patch.setattr(new_records, "_PIECE_BYTES", 4 * 32 * 1024)
    patch.setattr(batch_windows, "MOST_ROWS", 200)
    patch.setattr(ingest, "runner_of", lambda *_: nullcontext(LocalRunner(at_once=3)))
