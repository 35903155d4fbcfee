"""An ingest's rows are the same whether Spark's tasks make them or this process does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.lake import ingest
from pipelines.bronze import work
from pipelines.lake import Lake
from replica.format.batch import encode_batch
from replica.scan.segments import scan
from tests.fuzz.ingest_kills import tables

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
            [str(captures / name)],
            lake=Lake(lake),
            captured_at=f"2026-11-21T0{hour}:00Z",
            keep_secrets="--keep-secrets" in options,
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
    here, by_tasks = tmp_path / "here", tmp_path / "by tasks"
    for lake in (here, by_tasks):
        lake.mkdir()
        (lake / "_redaction.key").write_bytes(b"k" * 32)
    with monkeypatch.context() as patch:
        patch.setattr(ingest, "started_spark", _no_spark)
        found = ingested(here, captures, *options)
    monkeypatch.setattr(work, "SMALL_BYTES", -1)
    wanted = ingested(by_tasks, captures, *options)
    assert {name: len(rows) for name, rows in found.items()} == {
        name: len(rows) for name, rows in wanted.items()
    }
    assert found == wanted
    assert any("'record'" in row for row in found["damage"])


def _no_spark(*_: object) -> SparkSession:
    raise AssertionError("Spark was started")


@pytest.mark.spark
def test_where_many_rows_may_change_the_tasks_do_it(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    node = str(captures / "live" / "1")
    assert ingest.run([node], lake=Lake(lake), captured_at="2026-11-21T05:00Z") == 0
    monkeypatch.setattr(work, "SMALL_ROWS", 10)
    monkeypatch.setattr(ingest, "started_spark", _no_spark)
    with pytest.raises(AssertionError, match="Spark was started"):
        ingest.run(
            [str(captures / "split" / "1")], lake=Lake(lake), captured_at="2026-11-21T01:00Z"
        )


def test_much_to_decode_starts_spark_before_anything_is_written(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "SMALL_BYTES", 1000)
    monkeypatch.setattr(ingest, "started_spark", _no_spark)
    lake = tmp_path / "lake"
    with pytest.raises(AssertionError, match="Spark was started"):
        ingest.run([str(captures / "live" / "1")], lake=Lake(lake))
    assert not (lake / "bronze").exists()
