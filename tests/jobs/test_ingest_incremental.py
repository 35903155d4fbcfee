"""Ingesting what has grown: read, written and stored is what is new."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

from jobs.cli.commands.lake import BuildOptions, IngestOptions
from jobs.ingest import run
from pipelines.lake import Lake
from replica.errors import UsageError
from tests.fuzz.ingest_kills import TABLES
from tests.pipelines.growing import grow, large_node

T1, T2 = "2026-11-21T01:00Z", "2026-11-21T02:00Z"
CAPTURES = ("live", "split", "final")
CLUSTERS = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic")

pytestmark = pytest.mark.spark


def query(lake: Path, table: str, sql: str) -> list[tuple[Any, ...]]:
    rows: Any = (
        QueryBuilder()
        .register("t", DeltaTable(str(lake / "bronze" / table)))
        .execute(sql)
        .read_all()
    )
    return list(zip(*(rows.column(name).to_pylist() for name in rows.column_names), strict=True))


def bytes_read(said: str) -> tuple[float, float]:
    """(MB read, MB held) by the last line that says so."""
    read, held = re.findall(r"ingest: read ([0-9.]+) MB of ([0-9.]+) MB", said)[-1]
    return float(read), float(held)


def test_an_ingest_of_a_grown_log_reads_and_writes_what_is_new(
    spark: SparkSession, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = large_node(data, tmp_path / "1", 5_000_000)
    lake = tmp_path / "lake"
    assert run(IngestOptions([str(node)], Lake(lake), captured_at=T1)) == 0
    read, held = bytes_read(capsys.readouterr().err)
    assert read == pytest.approx(held, abs=0.1)
    (before,) = query(lake, "log_records", "SELECT count(*) FROM t")[0]
    batches = query(lake, "log_batches", "SELECT count(*) FROM t")[0][0]

    new = grow(node, 300_000)
    assert run(IngestOptions([str(node)], Lake(lake), captured_at=T2)) == 0
    read, held = bytes_read(capsys.readouterr().err)
    assert held > 5.3
    assert 0.3 <= read < 0.6
    (after,) = query(lake, "log_records", "SELECT count(*) FROM t")[0]
    assert after - before == new
    count, distinct = query(
        lake, "log_records", 'SELECT count(*), count(DISTINCT "offset") FROM t'
    )[0]
    assert count == distinct
    (appended,) = DeltaTable(str(lake / "bronze" / "log_batches")).history(1)
    assert appended["operation"] == "WRITE", "what is still held is not written again"
    assert appended["operationParameters"]["mode"] == "Append"
    assert int(appended["operationMetrics"]["numOutputRows"]) == new
    held_rows = "SELECT count(*) FROM t WHERE last_seen IS NULL AND cardinality(in_log) = 1"
    assert query(lake, "log_batches", held_rows) == [(batches + new,)]


@pytest.mark.slow
def test_batches_beside_a_deleted_segment_that_is_gone_later_are_still_held(
    spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    for hour, name in enumerate(("split", "final"), start=1):
        node = data / "kafka-3.7.2-static" / name / "12"
        assert (
            run(IngestOptions([str(node)], Lake(lake), captured_at=f"2026-11-21T0{hour}:00Z")) == 0
        )
    held = "SELECT count(*), min(base_offset) FROM t WHERE last_seen IS NULL"
    assert query(lake, "log_batches", held) == [(133, 519)]
    assert query(lake, "log_batches", "SELECT count(*) FROM t") == [(133,)]


@pytest.mark.slow
def test_captures_that_come_one_by_one_make_the_tables_of_all_at_once(
    recorded_lake: Path, data: Path, tmp_path: Path
) -> None:
    """A log that grows, a head deleted behind a snapshot, ghost records truncated and rewritten, a
    replica on a new disk: incremental ingests against one that read every byte. The captures tell
    which of both they are: the one ingest names its rounds by --order, the others have a time by
    --captured-at."""
    lake = tmp_path / "lake"
    lake.mkdir()
    shutil.copy(recorded_lake / "_redaction.key", lake)
    for hour, capture in enumerate(CAPTURES, start=1):
        paths = [str(data / cluster / capture) for cluster in CLUSTERS]
        assert run(IngestOptions(paths, Lake(lake), captured_at=f"2026-11-21T0{hour}:00Z")) == 0
    named = "SELECT DISTINCT round_name, has_own_time FROM t"
    assert query(lake, "captures", named) == [(None, True)]
    assert {*query(recorded_lake, "captures", named)} == {(name, False) for name in CAPTURES}
    for table in TABLES:
        assert _rows(lake, table) == _rows(recorded_lake, table), table


def _rows(lake: Path, table: str) -> list[str]:
    """The rows, their captured_at replaced by its place among those of the lake, without what
    tells how a capture got its round's name and its time."""
    moments = [row[0] for row in query(lake, "captures", "SELECT DISTINCT captured_at FROM t")]
    places = {moment: number for number, moment in enumerate(sorted(moments))}

    def placed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: placed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [placed(item) for item in value]
        return places.get(value, value) if value.__class__.__hash__ else value

    told = "* EXCEPT (round_name, has_own_time)" if table == "captures" else "*"
    rows = query(lake, table, f"SELECT {told} FROM t")
    return sorted(repr([placed(value) for value in row]) for row in rows)


@pytest.mark.slow
def test_a_stream_ingests_what_has_grown_since_it_last_ran(
    spark: SparkSession, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = large_node(data, tmp_path / "1", 1_000_000)
    lake = tmp_path / "lake"

    def drain() -> dict[str, int]:
        assert run(IngestOptions([str(node)], Lake(lake), available_now=True)) == 0
        out = capsys.readouterr().out
        return {name: int(count) for name, count in re.findall(r"(bronze\.\w+)\s+(\d+)", out)}

    first = drain()
    assert first["bronze.captures"] == 1
    new = grow(node, 100_000)
    assert drain()["bronze.log_records"] == new
    assert set(drain().values()) == {0}, "nothing has grown"
    assert query(lake, "captures", "SELECT count(*) FROM t") == [(2,)]
    count, distinct = query(
        lake, "log_records", 'SELECT count(*), count(DISTINCT "offset") FROM t'
    )[0]
    assert count == distinct == first["bronze.log_records"] + new


@pytest.mark.slow
def test_two_clusters_under_one_cluster_id_are_both_kept_and_told_apart(
    spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    """A cluster that was set up anew with the old one's id: same offsets and epochs, other logs."""
    from jobs.build import run as build

    lake = tmp_path / "lake"
    for name, source in (("1", CLUSTERS[0]), ("2", CLUSTERS[1])):
        shutil.copytree(data / source / "final" / name, tmp_path / "nodes" / name)
        meta = tmp_path / "nodes" / name / "meta.properties"
        text = re.sub("cluster.id=.*", "cluster.id=AAAAAAAAAAAAAAAAAAAAAA", meta.read_text())
        meta.write_text(text)
    run(IngestOptions([str(tmp_path / "nodes")], Lake(lake)))
    sizes = query(lake, "log_records", "SELECT node_id, count(*) FROM t GROUP BY 1 ORDER BY 1")
    assert [node for node, _ in sizes] == [1, 2]
    assert all(count > 1000 for _, count in sizes)
    assert build(BuildOptions(Lake(lake))) == 0
    table = DeltaTable(str(lake / "gold/divergence_points"))
    found: Any = QueryBuilder().register("t", table).execute("SELECT relation FROM t").read_all()
    assert set(found.column("relation").to_pylist()) & {"conflict", "diverged"}


@pytest.mark.slow
def test_a_lake_that_lost_a_data_file_is_refused_and_the_file_named(
    copied_lake: Path, data: Path, tmp_path: Path
) -> None:
    """Of captures, which every ingest reads, and of batches, which the merge reads."""
    node = Path(shutil.copytree(data / CLUSTERS[0] / "final/1", tmp_path / "1"))
    grow(node, 10_000)
    for table in ("log_batches", "captures"):
        files = DeltaTable(str(copied_lake / "bronze" / table)).file_uris()
        for file in files:
            Path(file.removeprefix("file://")).unlink()
        with pytest.raises(UsageError, match=r"part-.*parquet"):
            run(IngestOptions([str(node)], Lake(copied_lake)))


@pytest.fixture
def copied_lake(recorded_lake: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded_lake, tmp_path / "lake"))


def test_a_lake_that_lost_a_table_is_refused_and_left_alone(copied_lake: Path, data: Path) -> None:
    shutil.rmtree(copied_lake / "bronze/log_records")
    node = data / CLUSTERS[0] / "final/1"
    with pytest.raises(
        UsageError, match=r"has no bronze.log_records, though it has bronze.captures: restore"
    ):
        run(IngestOptions([str(node)], Lake(copied_lake)))
    assert not (copied_lake / "bronze/log_records").exists()
