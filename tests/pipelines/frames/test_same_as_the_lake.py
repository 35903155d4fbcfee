"""What a lake and what the functions on DataFrames say of the same directories is equal."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.tables import gold
from replica.format.batch import HEADER
from replica.format.file_names import METADATA_FOLDER
from tests.pipelines.frames.compared import Sources, assert_same, built_lake_of, in_lake
from tests.pipelines.gold.damaged_nodes import write_damaged_nodes
from tests.replica.doctor.check.editing import batches, flip

pytestmark = pytest.mark.spark

_DYNAMIC = "kafka-4.1.1-dynamic"
_SPLIT = {
    "leader_epochs": 23,
    "leader_epoch_history": 5,
    "divergence_points": 10,
    "snapshot_validity": 7,
}


@pytest.mark.slow
def test_the_frames_of_a_recorded_cluster_are_the_lake_s_tables(
    spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    path = data / _DYNAMIC / "split"
    assert assert_same(spark, path, built_lake_of(path, tmp_path / "lake")) == _SPLIT


_OTHERS = [
    (cluster, capture)
    for cluster in ("kafka-3.7.2-static", _DYNAMIC, "kafka-4.4.0-dynamic")
    for capture in ("live", "split", "final")
    if (cluster, capture) != (_DYNAMIC, "split")
]


@pytest.mark.slow
@pytest.mark.parametrize(("cluster", "capture"), _OTHERS)
def test_the_frames_of_every_recorded_capture_are_the_lake_s_tables(
    cluster: str, capture: str, spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    path = data / cluster / capture
    counts = assert_same(spark, path, built_lake_of(path, tmp_path / "lake"))
    assert all(counts.values())


def _segment(node: Path, number: int) -> Path:
    return sorted((node / METADATA_FOLDER).glob("*.log"))[number]


def _flipped(node: Path) -> None:
    path = _segment(node, 0)
    found = batches(path)
    flip(path, found[len(found) // 2].position + HEADER.size + 20)


def _torn(node: Path) -> None:
    path = _segment(node, -1)
    path.write_bytes(path.read_bytes()[:-30])


def _with_a_hole(node: Path) -> None:
    path = _segment(node, 0)
    content, start = path.read_bytes(), batches(path)[10].position
    path.write_bytes(content[:start] + bytes(5000) + content[start + 5000 :])


def _without_a_segment(node: Path) -> None:
    _segment(node, 0).unlink()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "1": _flipped,
    "2": _torn,
    "3": _with_a_hole,
    "11": _without_a_segment,
}


@pytest.mark.slow  # a minute of Spark
def test_the_frames_of_damaged_logs_and_snapshots_are_the_lake_s_tables(
    spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    """Two clusters at once: one of damaged logs, one of damaged snapshots."""
    nodes = tmp_path / "nodes"
    shutil.copytree(data / _DYNAMIC / "split", nodes / "logs")
    for name, damage in DAMAGES.items():
        damage(nodes / "logs" / name)
    write_damaged_nodes(data, nodes / "snapshots")
    lake = built_lake_of(nodes, tmp_path / "lake")
    counts = assert_same(spark, nodes, lake)
    assert counts["divergence_points"] == 20
    verdicts = in_lake(spark, lake, gold.SNAPSHOT_VALIDITY).groupBy("verdict").count()
    assert Counter(dict(map(tuple, verdicts.collect())))["invalid"] >= 4  # type: ignore[arg-type]


@pytest.mark.slow  # a minute of Spark
def test_a_replica_without_a_record_is_there_where_kraft_replica_tells_of_it(
    spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    nodes = shutil.copytree(data / _DYNAMIC / "split", tmp_path / "nodes")
    for path in (nodes / "11" / METADATA_FOLDER).iterdir():
        path.unlink()
    (nodes / "11" / METADATA_FOLDER / f"{0:020d}.log").write_bytes(b"")
    lake = built_lake_of(nodes, tmp_path / "lake")
    assert assert_same(spark, nodes, lake)["divergence_points"] == 10
    alone = Sources.of(spark, nodes).table(gold.DIVERGENCE_POINTS, None)
    assert alone.count() == 6, "the logs alone tell of four nodes"
