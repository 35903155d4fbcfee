"""Gold of the recorded clusters: the truths counted from Kafka's own dump."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from jobs.lake.build import run
from jobs.lake.ingest import fill
from pipelines.delta import Lake, read, size
from pipelines.tables import bronze, gold, silver

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"
DYNAMIC_DATA, STATIC_DATA = "kafka-4.1.1-dynamic", "kafka-3.7.2-static"
TABLES = (*silver.SILVER, *gold.GOLD)

pytestmark = pytest.mark.spark

_Epoch = tuple[int, int | None, int, int | None]


@pytest.fixture(scope="module")
def pairs(spark: SparkSession, built_lake: Path) -> dict[tuple[str, str], list[Row]]:
    """gold.divergence_points by (cluster, capture's name)."""
    lake = Lake(built_lake)
    name = F.regexp_extract("source", "/(live|split|final)/", 1).alias("name")
    captures = read(spark, lake, bronze.CAPTURES).select("capture_group", name).distinct()
    rows = read(spark, lake, gold.DIVERGENCE_POINTS)
    by_name: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows.join(captures, on="capture_group", how="inner").collect():
        by_name[row.cluster_id, row.name].append(row)
    return by_name


@pytest.mark.parametrize(
    ("cluster", "name", "relations"),
    [
        (DYNAMIC, "live", {"identical": 6}),
        (DYNAMIC, "split", {"diverged": 6, "identical": 4}),
        (DYNAMIC, "final", {"prefix": 7, "identical": 3}),
        (STATIC, "live", {"identical": 6}),
        (STATIC, "split", {"diverged": 6, "identical": 4}),
        (STATIC, "final", {"identical": 10}),
    ],
)
def test_all_pairs_of_a_capture_relate_as_kafka_left_them(
    pairs: dict[tuple[str, str], list[Row]], cluster: str, name: str, relations: dict[str, int]
) -> None:
    rows = pairs[cluster, name]
    assert Counter(row.relation for row in rows) == relations
    assert {row.is_latest for row in rows} == {name == "final"}
    assert {row.round_name for row in rows} == {name}
    assert all((r.node_a, r.directory_a) < (r.node_b, r.directory_b) for r in rows)


@pytest.mark.parametrize(
    ("cluster", "offset", "old_epoch", "new_epoch"), [(DYNAMIC, 1526, 5, 6), (STATIC, 750, 7, 8)]
)
def test_the_split_leaves_nodes_2_and_11_with_22_superseded_records(
    pairs: dict[tuple[str, str], list[Row]],
    cluster: str,
    offset: int,
    old_epoch: int,
    new_epoch: int,
) -> None:
    diverged = [row for row in pairs[cluster, "split"] if row.relation == "diverged"]
    for row in diverged:
        (loser,) = {row.node_a, row.node_b} & {2, 11}
        epochs = {row.node_a: row.epoch_a, row.node_b: row.epoch_b}
        assert epochs.pop(loser) == old_epoch
        assert set(epochs.values()) == {new_epoch}
        assert row.truncating_node == loser
        assert (row.divergence_offset, row.truncation_offset) == (offset, offset)
        assert (row.fetch_rounds, row.draft_fetch_rounds, row.records_lost) == (1, 1, 22)
        assert (row.committed_lost, row.unproven_lost, row.superseded_lost) == (0, 0, 22)


def test_the_history_is_that_of_kafka(spark: SparkSession, built_lake: Path) -> None:
    rows = read(spark, Lake(built_lake), gold.LEADER_EPOCH_HISTORY)
    history = _by_cluster(rows)
    assert history[DYNAMIC] == [
        (1, 2, 0, 501),
        (2, 3, 501, 751),
        (3, 1, 751, 1023),
        (5, 2, 1023, 1526),
        (6, 3, 1526, None),
    ]
    assert history[STATIC] == [
        (3, 3, 0, 378),
        (5, 1, 378, 549),
        (7, 2, 549, 750),
        (8, 3, 750, None),
    ]
    found = rows.orderBy("cluster_id", "epoch").collect()
    assert {row.commitment for row in found} == {"proven"}
    assert {tuple(voter.voter_id for voter in row.voters) for row in found} == {(1, 2, 3)}
    assert all(row.leader_id in [v.voter_id for v in row.granting_voters] for row in found)
    for row, following in pairwise(found):
        is_open = row.cluster_id != following.cluster_id
        assert row.ended_at == (None if is_open else following.started_at)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dynamic_end", "static_end"),
    [
        ("live", [(5, 2, 1023, None)], [(7, 2, 549, None)]),
        (
            "split",
            [(5, 2, 1023, 1526), (6, 3, 1526, None)],
            [(7, 2, 549, 750), (8, 3, 750, None)],
        ),
    ],
)
def test_one_capture_alone_tells_the_history_as_far_as_it_goes(
    spark: SparkSession,
    data: Path,
    tmp_path: Path,
    name: str,
    dynamic_end: list[_Epoch],
    static_end: list[_Epoch],
) -> None:
    lake = Lake(tmp_path / "lake")
    clusters = [str(data / cluster / name) for cluster in (DYNAMIC_DATA, STATIC_DATA)]
    fill(clusters, lake)
    history = _by_cluster(read(spark, lake, gold.LEADER_EPOCH_HISTORY))
    assert history[DYNAMIC] == [(1, 2, 0, 501), (2, 3, 501, 751), (3, 1, 751, 1023), *dynamic_end]
    assert history[STATIC] == [(3, 3, 0, 378), (5, 1, 378, 549), *static_end]


def test_the_committed_log_is_every_offset_of_the_branch_once(
    spark: SparkSession, built_lake: Path
) -> None:
    rows = read(spark, Lake(built_lake), silver.COMMITTED_LOG)
    starts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    offsets: dict[str, list[int]] = defaultdict(list)
    unproven: list[tuple[str, int]] = []
    for row in rows.orderBy("offset").collect():
        offsets[row.cluster_id].append(row.offset)
        epochs = starts[row.cluster_id]
        if not epochs or epochs[-1][0] != row.leader_epoch:
            epochs.append((row.leader_epoch, row.offset))
        if row.commitment != "proven":
            unproven.append((row.cluster_id, row.offset))
    # the leader wrote it when it stopped, and nobody fetched it
    assert unproven == [(DYNAMIC, offsets[DYNAMIC][-1])]
    assert starts[DYNAMIC] == [(1, 0), (2, 501), (3, 751), (5, 1023), (6, 1526)]
    assert starts[STATIC] == [(3, 0), (5, 378), (7, 549), (8, 750)]
    ends = read(spark, Lake(built_lake), bronze.CAPTURES).groupBy("cluster_id")
    for end in ends.agg(F.max("log_end_offset").alias("log_end_offset")).collect():
        assert offsets[end.cluster_id] == list(range(end.log_end_offset))


@pytest.mark.parametrize(("cluster", "offset", "epoch"), [(DYNAMIC, 1526, 5), (STATIC, 750, 7)])
def test_the_truncations_are_the_ghosts_of_nodes_2_and_11(
    spark: SparkSession, built_lake: Path, cluster: str, offset: int, epoch: int
) -> None:
    rows = read(spark, Lake(built_lake), gold.TRUNCATIONS).where(F.col("cluster_id") == cluster)
    found = rows.orderBy("node_id").collect()
    assert [row.node_id for row in found] == [2, 11]
    for row in found:
        assert (row.from_offset, row.to_offset, row.epochs) == (offset, offset + 22, [epoch])
        assert (row.committed_lost, row.unproven_lost, row.superseded_lost) == (0, 0, 22)
        assert row.seen_in_round == "final"


@pytest.mark.slow
def test_building_again_gives_the_same_rows(
    spark: SparkSession, built_lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = shutil.copytree(built_lake, tmp_path / "lake")
    lake = Lake(copied)
    before = {table.name: _rows(spark, lake, table.name) for table in TABLES}
    versions = _feed_versions(lake)
    assert versions
    assert run(lake=Lake(copied), json_output=True) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [{"table": name, "rows": len(rows)} for name, rows in before.items()]
    assert {table.name: _rows(spark, lake, table.name) for table in TABLES} == before
    assert _feed_versions(lake) == versions, "changes in the feed without news"


def _feed_versions(lake: Lake) -> dict[str, int]:
    return {table.name: size(lake, table).version for table in TABLES if table.change_feed}


def _by_cluster(history: DataFrame) -> dict[str, list[_Epoch]]:
    by_cluster: dict[str, list[_Epoch]] = defaultdict(list)
    for row in history.orderBy("epoch").collect():
        by_cluster[row.cluster_id].append(
            (row.epoch, row.leader_id, row.start_offset, row.end_offset)
        )
    return by_cluster


def _rows(spark: SparkSession, lake: Lake, table: str) -> list[str]:
    schema, name = table.split(".")
    rows = spark.read.format("delta").load(lake.path(schema, name)).collect()
    return sorted(str(row) for row in rows)
