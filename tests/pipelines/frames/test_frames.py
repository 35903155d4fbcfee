"""How the functions on DataFrames behave: lazily, by DataFrames alone, with errors of one line."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException, PySparkValueError
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

import kraftlake
from pipelines.frames.tables import OF_CAPTURES
from pipelines.tables import gold
from tests.pipelines.frames.compared import TABLES, Sources

pytestmark = pytest.mark.spark
REPOSITORY = Path(__file__).parents[3]
NODES = ("1", "2", "3", "11", "12")


@pytest.fixture
def split(data: Path) -> Path:
    return data / "kafka-4.1.1-dynamic" / "split"


@pytest.fixture
def sources(spark: SparkSession, split: Path) -> Sources:
    return Sources.of(spark, split)


def test_nothing_runs_before_an_action_and_the_columns_are_those_of_the_tables(
    spark: SparkSession, sources: Sources
) -> None:
    spark.sparkContext.setJobGroup("frames", "frames that nobody asks for their rows")
    for contract in TABLES:
        made = sources.table(contract, sources.replicas)
        expected = [
            (one.name, one.data_type) for one in contract.columns if one.name not in OF_CAPTURES
        ]
        assert [(one.name, one.dataType) for one in made.schema] == expected
    assert spark.sparkContext.statusTracker().getJobIdsForGroup("frames") == []
    spark.sparkContext.setJobGroup("", "")


FORBIDDEN = {
    "rdd", "collect", "toPandas", "toArrow", "toLocalIterator", "foreach", "foreachPartition",
    "sparkContext", "count", "first", "head", "take", "_jdf", "_sc", "_jvm",
}  # fmt: skip


def test_the_functions_use_nothing_that_spark_connect_lacks_or_that_brings_rows_to_the_driver() -> (
    None
):
    files = [*(REPOSITORY / "pipelines" / "frames").glob("*.py")]
    assert len(files) >= 3
    for path in files:
        named = {
            node.attr
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute)
        }
        assert not named & FORBIDDEN, path


def told(made: Callable[[], object]) -> str:
    with pytest.raises(PySparkException) as error:
        made()
    text = str(error.value).removeprefix("An exception was thrown from the Python worker:\n")
    assert "\n" not in text, text
    return text


@pytest.mark.slow
def test_two_captures_of_one_replica_are_refused(spark: SparkSession, split: Path) -> None:
    sources = Sources.of(spark, split.parent)
    text = told(kraftlake.divergence_points(sources.logs).collect)
    assert "are captures of the same replica (node 1): load one capture at a time" in text
    one = kraftlake.divergence_points(sources.logs.where("directory LIKE '%/split/%'"))
    assert one.where("relation = 'diverged'").count() == 6


@pytest.mark.slow
def test_a_log_that_nobody_owns_is_refused_until_an_option_says_whose_it_is(
    spark: SparkSession, data: Path
) -> None:
    path = str(data / "generated-all-types")
    logs = spark.read.format("kraft_log").load(path)
    text = told(kraftlake.leader_epochs(logs).collect)
    assert 'say whose it is: .option("replica", "CLUSTER:NODE")' in text
    logs = spark.read.format("kraft_log").option("replica", "abc:7").load(path)
    assert kraftlake.leader_epochs(logs).where("cluster_id = 'abc' AND node_id = 7").count() > 0


@pytest.mark.slow
def test_logs_whose_directories_are_gone_need_the_frame_of_replicas(
    spark: SparkSession, split: Path, tmp_path: Path
) -> None:
    nodes = shutil.copytree(split, tmp_path / "nodes")
    sources = Sources.of(spark, nodes)
    kept = {}
    for name, frame in (("logs", sources.logs), ("replicas", sources.replicas)):
        frame.write.parquet(str(tmp_path / name))
        kept[name] = spark.read.parquet(str(tmp_path / name))
    shutil.rmtree(nodes)
    text = told(kraftlake.divergence_points(kept["logs"]).collect)
    assert 'give the frame of spark.read.format("kraft_replica") as `replicas`' in text
    made = kraftlake.divergence_points(kept["logs"], kept["replicas"])
    assert made.where("relation = 'diverged'").count() == 6


def test_snapshots_and_logs_of_different_keys_are_refused(
    spark: SparkSession, split: Path, sources: Sources
) -> None:
    shown = spark.read.format("kraft_log").option("keepSecrets", "true").load(str(split))
    with pytest.raises(PySparkValueError, match="different keys for secrets"):
        kraftlake.snapshot_validity(sources.snapshots, shown)


@pytest.mark.slow
def test_the_formats_are_known_to_a_session_that_nobody_registered_them_with(
    spark: SparkSession, split: Path
) -> None:
    for name in ("kraft_log", "kraft_snapshot", "kraft_replica"):
        assert spark.newSession().read.format(name).load(str(split)).count() > 4


@pytest.mark.slow
def test_kraft_replica_has_the_small_files_and_the_findings_of_each_directory(
    sources: Sources,
) -> None:
    rows = {row.node_id: row for row in sources.replicas.collect()}
    assert sorted(rows) == [1, 2, 3, 11, 12]
    assert rows[1].leader_epochs[0].epoch == 1
    assert (rows[1].log_start_offset, rows[1].log_end_offset) == (0, 2712)
    assert {one.state for row in rows.values() for one in row.snapshots} == {"complete"}
    assert rows[1].meta_properties["node.id"] == "1"
    assert all(row.findings == [] for row in rows.values())


@pytest.mark.slow
def test_frames_of_one_node_and_of_all_agree_on_that_node(sources: Sources) -> None:
    alone = kraftlake.leader_epochs(sources.logs.where("node_id = 2"))
    of_all = kraftlake.leader_epochs(sources.logs).where("node_id = 2")
    assert sorted(alone.collect()) == sorted(of_all.collect())


@pytest.mark.slow
def test_by_uri_the_frames_say_the_same_as_by_path(
    spark: SparkSession, split: Path, sources: Sources
) -> None:
    by_uri = Sources(
        *(
            spark.read.format(name).load(split.as_uri())
            for name in ("kraft_log", "kraft_snapshot", "kraft_replica")
        )
    )
    folders = {row.directory for row in by_uri.replicas.select("directory").collect()}
    assert folders == {f"{(split / node).as_uri()}/__cluster_metadata-0" for node in NODES}
    expected = sources.table(gold.DIVERGENCE_POINTS, None)
    for replicas in (None, by_uri.replicas):
        assertDataFrameEqual(by_uri.table(gold.DIVERGENCE_POINTS, replicas), expected)
    node = spark.read.format("kraft_log").load(f"{(split / '2').as_uri()}/__cluster_metadata-0")
    assert [row.node_id for row in node.select("node_id").distinct().collect()] == [2]
