"""Ingesting again, later, out of order and from damaged directories, on one small lake."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run
from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_versions, open_table, rows_of
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from replica.errors import UsageError

SEGMENT = f"__cluster_metadata-0/{519:020d}.log"
LIVE, SPLIT, FINAL = "2026-11-21T01:00Z", "2026-11-21T02:00Z", "2026-11-21T03:00Z"


@pytest.fixture(scope="module")
def node(data: Path) -> Path:
    """Node 3 of the static cluster: its log starts at a snapshot."""
    return data / "kafka-3.7.2-static"


@pytest.fixture(scope="module")
def lake(node: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """live and final of node 3. Tests below add to it, in their order."""
    lake = tmp_path_factory.mktemp("ingest") / "lake"
    assert run(IngestOptions([str(node / "live/3")], Lake(lake), captured_at=LIVE)) == 0
    assert run(IngestOptions([str(node / "final/3")], Lake(lake), captured_at=FINAL)) == 0
    return lake


def _rows(lake: Path, contract: Contract, where: str = "true") -> list[dict[str, Any]]:
    table = open_table(Lake(lake).table_uri(contract.name))
    return rows_of(table, f"SELECT * FROM t WHERE {where}")


def _versions(lake: Path) -> dict[str, int]:
    return newest_versions(Lake(lake), [contract.name for contract in bronze.BRONZE])


def test_ingesting_again_changes_nothing(lake: Path, node: Path) -> None:
    before = _versions(lake)
    assert set(before) == {contract.name for contract in bronze.BRONZE}
    assert run(IngestOptions([str(node / "final/3")], Lake(lake))) == 0
    assert _versions(lake) == before


def test_a_later_capture_adds_only_what_is_new(lake: Path) -> None:
    batches = _rows(lake, bronze.LOG_BATCHES)
    assert len(batches) == len({(b["base_offset"], b["leader_epoch"], b["crc"]) for b in batches})
    records = _rows(lake, bronze.LOG_RECORDS)
    assert len(records) == len({(r["offset"], r["leader_epoch"]) for r in records})
    # 0-377 of the deleted segment, and 519-1924: the log goes on behind a fetched snapshot
    assert len(records) == 378 + (1925 - 519)


def test_a_capture_that_arrives_late_takes_its_place_in_time(lake: Path, node: Path) -> None:
    assert run(IngestOptions([str(node / "split/3")], Lake(lake), captured_at=SPLIT)) == 0
    split = _rows(lake, bronze.LOG_BATCHES, "base_offset >= 750")
    assert _minute(min(row["first_seen"] for row in split)) == SPLIT
    removed = _rows(lake, bronze.LOG_BATCHES, "removed_at IS NOT NULL")
    times = {_minute(row["removed_at"]) for row in removed}
    assert times == {SPLIT}, "split is the first capture without them"
    assert len(removed) == 87
    held = _rows(lake, bronze.LOG_BATCHES, "removed_at IS NULL")
    assert {len(row["in_log"]) for row in held} == {1}, "one span each: nothing came and went"


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%MZ}"


def test_an_unchanged_replica_beside_a_new_one_makes_a_new_group(lake: Path, node: Path) -> None:
    paths = [str(node / "final/3"), str(node / "final/12")]
    assert run(IngestOptions(paths, Lake(lake))) == 0
    captures = _rows(lake, bronze.CAPTURES)
    latest = max(captures, key=lambda row: row["ingest_seq"])
    group = [row for row in captures if row["capture_group"] == latest["capture_group"]]
    assert sorted(row["node_id"] for row in group) == [3, 12]
    states = _rows(lake, bronze.REPLICA_STATE)
    assert len(states) == len({row["capture_id"] for row in states})
    assert {row["capture_id"] for row in captures} == {row["capture_id"] for row in states}


def test_damage_is_named_and_kept_and_the_rest_is_ingested(
    lake: Path, node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(node / "final/1", tmp_path / "1"))
    log = copy / f"__cluster_metadata-0/{0:020d}.log"
    damaged = bytearray(log.read_bytes())
    damaged[5000] ^= 1
    log.write_bytes(bytes(damaged))
    (copy / "__cluster_metadata-0/quorum-state").write_bytes(b"")
    assert run(IngestOptions([str(copy)], Lake(lake))) == 1
    said = capsys.readouterr().err
    assert f"{log}: byte " in said
    assert f"{copy}/__cluster_metadata-0/quorum-state: byte 0: empty-file" in said
    rows = {row["file"]: row for row in _rows(lake, bronze.DAMAGE, f"file LIKE '{copy}%'")}
    damage = rows[str(log)]
    assert damage["kind"] == "crc-mismatch"
    position, end = damage["position"], damage["position"] + damage["length"]
    assert position <= 5000 < end
    assert bytes(damaged)[position:end] == damage["raw"]
    (bad,) = _rows(lake, bronze.LOG_BATCHES, "node_id = 1 AND NOT crc_valid")
    assert bad["in_log"] == []
    records = _rows(lake, bronze.LOG_RECORDS, "node_id = 1")
    assert len(records) == 1925 - bad["record_count"]


def test_a_repaired_directory_brings_the_records_that_were_missing(lake: Path, node: Path) -> None:
    assert run(IngestOptions([str(node / "final/1")], Lake(lake))) == 0
    assert _rows(lake, bronze.LOG_BATCHES, "node_id = 1 AND NOT crc_valid") == []
    assert len(_rows(lake, bronze.LOG_RECORDS, "node_id = 1")) == 1925


def test_damage_of_a_directory_without_a_replica_is_a_row_too(
    lake: Path, node: Path, tmp_path: Path
) -> None:
    shutil.copytree(node / "final/1", tmp_path / "nodes/1")
    shutil.copytree(node / "final/2", tmp_path / "nodes/2")
    (tmp_path / "nodes/2/meta.properties").unlink()
    for _ in range(2):
        assert run(IngestOptions([str(tmp_path / "nodes")], Lake(lake))) in (0, 1)
    (row,) = _rows(lake, bronze.DAMAGE, "capture_id IS NULL")
    assert row["kind"] == "unidentified"
    assert row["file"] == f"{tmp_path}/nodes/2/__cluster_metadata-0"
    assert "--as" in row["detail"]


def test_a_bundle_of_garbage_alone_is_damage_and_no_crash(tmp_path: Path, lake: Path) -> None:
    bundle = tmp_path / "incident.tar.gz"
    bundle.write_bytes(b"no archive")
    assert run(IngestOptions([str(bundle)], Lake(lake))) == 1
    (row,) = _rows(lake, bronze.DAMAGE, f"file = '{bundle}'")
    assert row["capture_id"] is None


def test_nothing_is_left_in_the_spool(lake: Path) -> None:
    assert not (lake / "_spool").exists()


def test_two_captures_of_one_replica_without_an_order_are_refused(node: Path, lake: Path) -> None:
    with pytest.raises(UsageError, match="--order"):
        run(IngestOptions([str(node)], Lake(lake)))


@pytest.mark.parametrize("captures", [("split", "final"), ("final", "split")])
def test_records_that_others_replaced_below_the_log_start_are_truncated(
    captures: tuple[str, str], data: Path, tmp_path: Path
) -> None:
    """A snapshot has moved the log start above them. Until the segments below it are deleted, the
    log shows what it holds there."""
    recorded, lake = data / "kafka-4.1.1-dynamic", Lake(tmp_path / "lake")
    log = f"final/2/{SEGMENT.partition('/')[0]}"
    for capture in captures:
        shutil.copytree(recorded / capture / "2", tmp_path / capture / "2")
    snapshot = f"{2571:020d}-{6:010d}.checkpoint"
    shutil.copy(recorded / log.replace("2/", "3/") / snapshot, tmp_path / log)
    (tmp_path / log / "leader-epoch-checkpoint").write_text("0\n1\n6 2571\n")
    for capture in captures:
        at = {"split": SPLIT, "final": FINAL}[capture]
        assert run(IngestOptions([str(tmp_path / capture / "2")], lake, captured_at=at)) == 0
    (final,) = _rows(tmp_path / "lake", bronze.CAPTURES, "log_start_offset > 0")
    assert (final["log_start_offset"], final["first_offset"]) == (2571, 0)
    gone = _rows(tmp_path / "lake", bronze.LOG_BATCHES, "last_seen IS NOT NULL")
    assert (gone[0]["base_offset"], gone[-1]["last_offset"]) == (1526, 1547)
    assert {(row["truncated_at"], row["removed_at"]) for row in gone} == {
        (final["captured_at"], None)
    }
