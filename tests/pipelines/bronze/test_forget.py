"""Captures that are forgotten: the lake is as if they had never been ingested."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from jobs import build, ingest
from jobs.cli.commands.lake import BuildOptions, ForgetOptions, IngestOptions
from jobs.cli.lake import forget as job
from pipelines.bronze.forget import forget
from pipelines.delta import Lake, read
from pipelines.lake import forgetting
from pipelines.lake.forgetting import Targets
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from replica.errors import UsageError
from tests.pipelines.checksums import checksum
from tests.pipelines.spark_writes import append

pytestmark = pytest.mark.spark

TIMES = {"live": "2026-11-21T01:00Z", "split": "2026-11-21T02:00Z", "final": "2026-11-21T03:00Z"}


class KilledError(Exception):
    """Stands for the end of the process."""


@pytest.mark.slow
def test_a_lake_without_its_last_captures_is_what_it_was_before_them(
    spark: SparkSession, recorded_lake: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(recorded_lake, lake)
    captures = read(spark, Lake(lake), bronze.CAPTURES)
    last = captures.where("ingest_seq = 3").select("capture_group").distinct().collect()
    targets = Targets(captures=frozenset(row.capture_group for row in last))

    forgetting.begin(Lake(lake), targets)
    with pytest.raises(KilledError):
        forget(spark, Lake(lake), targets, _killed_at("bronze.captures"))
    with pytest.raises(UsageError, match="was interrupted: run `kraftlake forget --lake"):
        ingest.run(IngestOptions([str(tmp_path)], Lake(lake)))
    with pytest.raises(UsageError, match="was interrupted"):
        build.run(BuildOptions(Lake(lake)))

    assert job.run(ForgetOptions(Lake(lake), confirmed=True)) == 0
    before = _when_round_ended(recorded_lake, 2)
    for contract in bronze.BRONZE:
        path = Lake(recorded_lake).path_of(contract)
        history = [one for one in DeltaTable(path).history() if one["timestamp"] <= before]
        version = max(one["version"] for one in history)
        wanted = spark.read.format("delta").option("versionAsOf", version).load(path)
        assert _sum(contract, read(spark, Lake(lake), contract)) == _sum(contract, wanted)
    with pytest.raises(UsageError, match="no such capture"):
        job.run(ForgetOptions(Lake(lake), captures=[last[0].capture_group], confirmed=True))


@pytest.mark.slow
def test_a_lake_without_a_cluster_holds_the_others_as_they_were(
    spark: SparkSession, recorded_lake: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(recorded_lake, lake)
    row = read(spark, Lake(lake), bronze.CAPTURES).where("source LIKE '%static%'").first()
    assert row is not None
    counts = forget(spark, Lake(lake), Targets(clusters=frozenset([row.cluster_id])), _silent)
    assert counts["bronze.captures"] == 14
    others = read(spark, Lake(recorded_lake), bronze.CAPTURES)
    ids = others.where(f"cluster_id <> '{row.cluster_id}'").select("capture_id")
    for contract in bronze.BRONZE:
        whole = read(spark, Lake(recorded_lake), contract)
        wanted = (
            whole.where(f"cluster_id <> '{row.cluster_id}'")
            if "cluster_id" in contract.column_names
            else whole.join(ids, on="capture_id", how="left_semi")
        )
        assert _sum(contract, read(spark, Lake(lake), contract)) == _sum(contract, wanted)


@pytest.mark.slow
def test_a_capture_in_the_middle_leaves_no_trace_and_may_come_again(
    spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    """live, split, final without split is live, final; killed at every step on the way there."""
    lake, other = tmp_path / "lake", tmp_path / "other"
    for name in TIMES:
        _ingest(lake, data, name)
    other.mkdir()
    shutil.copy(lake / "_redaction.key", other)  # or every hash would be another
    for name in ("live", "final"):
        _ingest(other, data, name)
    captures = read(spark, Lake(lake), bronze.CAPTURES).select("capture_group", "source").collect()
    split = next(row for row in captures if "/split/" in row.source)
    targets = Targets(captures=frozenset([split.capture_group]))
    for step in ("snapshot_records", "snapshots", "damage", "log_batches", "findings", "captures"):
        with pytest.raises(KilledError):
            forget(spark, Lake(lake), targets, _killed_at(f"bronze.{step}"))
    assert forget(spark, Lake(lake), targets, _silent)["bronze.captures"] == 4
    _equal(spark, lake, other)
    assert forget(spark, Lake(lake), targets, _silent) == {}

    for one in (lake, other):
        _ingest(one, data, "split")
    _equal(spark, lake, other)
    assert read(spark, Lake(lake), bronze.CAPTURES).count() == len(captures)


@pytest.mark.slow
def test_one_replica_of_a_group_is_forgotten_and_damage_told_of_it_is_told_of_another(
    spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    lake, other = tmp_path / "lake", tmp_path / "other"
    for one in (lake, other):
        one.mkdir()
        (one / "_redaction.key").write_bytes(b"k" * 32)  # or every hash would be another
    sources = data / "kafka-3.7.2-static"
    for name in TIMES:
        paths = [str(sources / name / node) for node in ("1", "3")]
        assert ingest.run(IngestOptions(paths, Lake(lake), captured_at=TIMES[name])) == 0
        paths = paths[1:] if name == "live" else paths
        assert ingest.run(IngestOptions(paths, Lake(other), captured_at=TIMES[name])) == 0
    captures = read(spark, Lake(lake), bronze.CAPTURES)
    live = captures.where("source LIKE '%/live/1/%'").first()
    later = captures.where("source LIKE '%/split/1/%'").first()
    assert live is not None
    assert later is not None
    batch = read(spark, Lake(lake), bronze.LOG_BATCHES).where("base_offset = 0 AND node_id = 1")
    at = batch.collect()[0]
    for one, owner in ((lake, live), (other, later)):
        file = at.file.replace(live.source, owner.source)
        row = (owner.capture_id, file, at.position, 0, "record", "no such type", b"x")
        append(Lake(one), bronze.DAMAGE, spark.createDataFrame([row], bronze.DAMAGE.schema))
    forget(spark, Lake(lake), Targets(captures=frozenset([live.capture_id])), _silent)
    _equal(spark, lake, other)


@pytest.mark.slow
def test_after_a_vacuum_no_file_of_an_earlier_version_is_left(
    spark: SparkSession, built_lake: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(built_lake, lake)
    row = read(spark, Lake(lake), bronze.CAPTURES).where("source LIKE '%static%'").first()
    assert row is not None
    assert (
        job.run(ForgetOptions(Lake(lake), clusters=[row.cluster_id], confirmed=True, vacuum=True))
        == 0
    )
    needed = {
        Path(uri)
        for log in lake.glob("*/*/_delta_log")
        for uri in DeltaTable(str(log.parent)).file_uris()
    }
    assert needed
    assert {file for file in lake.rglob("*.parquet") if "_delta_log" not in file.parts} == needed
    stored = [file for file in needed if row.cluster_id.encode() in file.read_bytes()]
    assert stored == []
    assert job.run(ForgetOptions(Lake(lake), confirmed=True, vacuum=True)) == 0


def _ingest(lake: Path, data: Path, name: str) -> None:
    nodes = [data / "kafka-3.7.2-static" / name / node for node in ("1", "2", "3", "12")]
    paths = [str(node) for node in nodes if node.exists()]
    assert ingest.run(IngestOptions(paths, Lake(lake), captured_at=TIMES[name])) == 0


def _silent(table: str) -> None:
    """Progress that nobody wants."""


def _killed_at(step: str) -> Callable[[str], None]:
    def progress(table: str) -> None:
        if table == step:
            raise KilledError

    return progress


def _when_round_ended(lake: Path, round_number: int) -> int:
    """When bronze.captures, which ends a round, had its commit, in ms. Version 0 has no rows."""
    history = DeltaTable(Lake(lake).path_of(bronze.CAPTURES)).history()
    return next(int(one["timestamp"]) for one in history if one["version"] == round_number)


def _sum(contract: Contract, rows: DataFrame) -> object:
    """Everything but VARIANT, which its record's key decides, and the order of ingestion."""
    names = [c.name for c in contract.columns if c.type != "variant" and c.name != "ingest_seq"]
    return contract.name, checksum(rows.select(*names).toArrow())


def _equal(spark: SparkSession, lake: Path, other: Path) -> None:
    for contract in bronze.BRONZE:
        found, wanted = (read(spark, Lake(one), contract) for one in (lake, other))
        assert _sum(contract, found) == _sum(contract, wanted)
