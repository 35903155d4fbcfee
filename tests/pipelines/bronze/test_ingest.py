"""Ingesting again, later, out of order and from damaged directories, on one small lake."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.lake.ingest import run
from pipelines.delta import Lake, last_commit, read
from pipelines.tables import bronze
from replica.errors import UsageError

SEGMENT = f"__cluster_metadata-0/{519:020d}.log"
LIVE, SPLIT, FINAL = "2026-11-21T01:00Z", "2026-11-21T02:00Z", "2026-11-21T03:00Z"

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def node(data: Path) -> Path:
    """Node 3 of the static cluster: its log starts at a snapshot."""
    return data / "kafka-3.7.2-static"


@pytest.fixture(scope="module")
def lake(spark: SparkSession, node: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """live and final of node 3. Tests below add to it, in their order."""
    lake = tmp_path_factory.mktemp("ingest") / "lake"
    assert run([str(node / "live/3")], lake=Lake(lake), captured_at=LIVE) == 0
    assert run([str(node / "final/3")], lake=Lake(lake), captured_at=FINAL) == 0
    return lake


def _rows(spark: SparkSession, lake: Path, contract: Any, where: str = "true") -> list[Any]:
    return read(spark, Lake(lake), contract).where(where).collect()


def test_ingesting_again_changes_nothing(spark: SparkSession, lake: Path, node: Path) -> None:
    before = {c.name: last_commit(spark, Lake(lake), c).version for c in bronze.BRONZE}
    assert run([str(node / "final/3")], lake=Lake(lake)) == 0
    after = {c.name: last_commit(spark, Lake(lake), c).version for c in bronze.BRONZE}
    assert after == before


def test_a_later_capture_adds_only_what_is_new(spark: SparkSession, lake: Path) -> None:
    batches = _rows(spark, lake, bronze.LOG_BATCHES)
    assert len(batches) == len({(b.base_offset, b.leader_epoch, b.crc) for b in batches})
    records = _rows(spark, lake, bronze.LOG_RECORDS)
    assert len(records) == len({(r.offset, r.leader_epoch) for r in records})
    # 0-377 of the deleted segment, and 519-1924: the log goes on behind a fetched snapshot
    assert len(records) == 378 + (1925 - 519)


def test_a_capture_that_arrives_late_takes_its_place_in_time(
    spark: SparkSession, lake: Path, node: Path
) -> None:
    assert run([str(node / "split/3")], lake=Lake(lake), captured_at=SPLIT) == 0
    split = read(spark, Lake(lake), bronze.LOG_BATCHES).where("base_offset >= 750")
    first = split.selectExpr("date_format(min(first_seen), 'HH:mm')").collect()[0][0]
    assert first == "02:00"
    removed = read(spark, Lake(lake), bronze.LOG_BATCHES).where("removed_at IS NOT NULL")
    times = removed.selectExpr("date_format(removed_at, 'HH:mm') AS at").distinct().collect()
    assert [row.at for row in times] == ["02:00"], "split is the first capture without them"
    assert removed.count() == 87
    held = read(spark, Lake(lake), bronze.LOG_BATCHES).where("removed_at IS NULL")
    assert held.where("size(in_log) != 1").count() == 0, "one span each: nothing came and went"


def test_an_unchanged_replica_beside_a_new_one_makes_a_new_group(
    spark: SparkSession, lake: Path, node: Path
) -> None:
    paths = [str(node / "final/3"), str(node / "final/12")]
    assert run(paths, lake=Lake(lake)) == 0
    captures = _rows(spark, lake, bronze.CAPTURES)
    latest = max(captures, key=lambda row: row.ingest_seq)
    group = [row for row in captures if row.capture_group == latest.capture_group]
    assert sorted(row.node_id for row in group) == [3, 12]
    states = _rows(spark, lake, bronze.REPLICA_STATE)
    assert len(states) == len({row.capture_id for row in states})
    assert {row.capture_id for row in captures} == {row.capture_id for row in states}


def test_damage_is_named_and_kept_and_the_rest_is_ingested(
    spark: SparkSession, lake: Path, node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(node / "final/1", tmp_path / "1"))
    log = copy / f"__cluster_metadata-0/{0:020d}.log"
    damaged = bytearray(log.read_bytes())
    damaged[5000] ^= 1
    log.write_bytes(bytes(damaged))
    (copy / "__cluster_metadata-0/quorum-state").write_bytes(b"")
    assert run([str(copy)], lake=Lake(lake)) == 1
    said = capsys.readouterr().err
    assert f"{log}: byte " in said
    assert f"{copy}/__cluster_metadata-0/quorum-state: byte 0: empty-file" in said
    rows = {row.file: row for row in _rows(spark, lake, bronze.DAMAGE, f"file LIKE '{copy}%'")}
    assert rows[str(log)].kind == "crc-mismatch"
    assert rows[str(log)].position <= 5000 < rows[str(log)].position + rows[str(log)].length
    assert bytes(damaged)[rows[str(log)].position :][: rows[str(log)].length] == rows[str(log)].raw
    bad = _rows(spark, lake, bronze.LOG_BATCHES, "node_id = 1 AND NOT crc_valid")
    assert len(bad) == 1
    assert bad[0].in_log == []
    records = _rows(spark, lake, bronze.LOG_RECORDS, "node_id = 1")
    assert len(records) == 1925 - bad[0].record_count


def test_a_repaired_directory_brings_the_records_that_were_missing(
    spark: SparkSession, lake: Path, node: Path
) -> None:
    assert run([str(node / "final/1")], lake=Lake(lake)) == 0
    assert _rows(spark, lake, bronze.LOG_BATCHES, "node_id = 1 AND NOT crc_valid") == []
    assert len(_rows(spark, lake, bronze.LOG_RECORDS, "node_id = 1")) == 1925


def test_what_belongs_to_no_replica_is_a_row_too(
    spark: SparkSession, lake: Path, node: Path, tmp_path: Path
) -> None:
    shutil.copytree(node / "final/1", tmp_path / "nodes/1")
    shutil.copytree(node / "final/2", tmp_path / "nodes/2")
    (tmp_path / "nodes/2/meta.properties").unlink()
    for _ in range(2):
        assert run([str(tmp_path / "nodes")], lake=Lake(lake)) in (0, 1)
    (row,) = _rows(spark, lake, bronze.DAMAGE, "capture_id IS NULL")
    assert row.kind == "unidentified"
    assert row.file == f"{tmp_path}/nodes/2/__cluster_metadata-0"
    assert "--as" in row.detail


def test_a_bundle_of_garbage_alone_is_damage_and_no_crash(
    spark: SparkSession, tmp_path: Path, lake: Path
) -> None:
    bundle = tmp_path / "incident.tar.gz"
    bundle.write_bytes(b"no archive")
    assert run([str(bundle)], lake=Lake(lake)) == 1
    (row,) = _rows(spark, lake, bronze.DAMAGE, f"file = '{bundle}'")
    assert row.capture_id is None


def test_nothing_is_left_in_the_spool(lake: Path) -> None:
    assert not (lake / "_spool").exists()


def test_two_captures_of_one_replica_without_an_order_are_refused(node: Path, lake: Path) -> None:
    with pytest.raises(UsageError, match="--order"):
        run([str(node)], lake=Lake(lake))
