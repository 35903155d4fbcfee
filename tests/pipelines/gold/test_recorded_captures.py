"""Gold of the recorded clusters: the truths counted from Kafka's own dump."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.build import run
from jobs.cli.commands.lake import BuildOptions
from jobs.ingest import fill
from pipelines.delta import Lake, version
from pipelines.tables import bronze, gold, silver
from tests.pipelines.lake_rows import names_of_captures, rows, rows_of

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"
DYNAMIC_DATA, STATIC_DATA = "kafka-4.1.1-dynamic", "kafka-3.7.2-static"
TABLES = (*silver.SILVER, *gold.GOLD)

_Epoch = tuple[int, int | None, int, int | None]


@pytest.fixture(scope="module")
def pairs(built_lake: Path) -> dict[tuple[str, str], list[Any]]:
    """gold.divergence_points by (cluster, capture's name)."""
    names = names_of_captures(built_lake)
    by_name: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in rows_of(built_lake, gold.DIVERGENCE_POINTS):
        by_name[row.cluster_id, names[row.capture_group]].append(row)
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
    pairs: dict[tuple[str, str], list[Any]], cluster: str, name: str, relations: dict[str, int]
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
    pairs: dict[tuple[str, str], list[Any]],
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


def test_the_history_is_that_of_kafka(built_lake: Path) -> None:
    found = rows_of(built_lake, gold.LEADER_EPOCH_HISTORY)
    history = _by_cluster(found)
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
    assert {row.commitment for row in found} == {"proven"}
    assert {tuple(voter["voter_id"] for voter in row.voters) for row in found} == {(1, 2, 3)}
    assert all(row.leader_id in [v["voter_id"] for v in row.granting_voters] for row in found)
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
    data: Path,
    tmp_path: Path,
    name: str,
    dynamic_end: list[_Epoch],
    static_end: list[_Epoch],
) -> None:
    lake = Lake(tmp_path / "lake")
    clusters = [str(data / cluster / name) for cluster in (DYNAMIC_DATA, STATIC_DATA)]
    fill(clusters, lake)
    history = _by_cluster(rows_of(tmp_path / "lake", gold.LEADER_EPOCH_HISTORY))
    assert history[DYNAMIC] == [(1, 2, 0, 501), (2, 3, 501, 751), (3, 1, 751, 1023), *dynamic_end]
    assert history[STATIC] == [(3, 3, 0, 378), (5, 1, 378, 549), *static_end]


def test_the_committed_log_is_every_offset_of_the_branch_once(built_lake: Path) -> None:
    starts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    offsets: dict[str, list[int]] = defaultdict(list)
    unproven: list[tuple[str, int]] = []
    query = f'SELECT * FROM {silver.COMMITTED_LOG.name} ORDER BY "offset"'
    for row in rows(built_lake, query):
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
    newest = f"SELECT cluster_id, max(log_end_offset) AS log_end FROM {bronze.CAPTURES.name}"
    ends = rows(built_lake, f"{newest} GROUP BY cluster_id")
    assert {end.cluster_id for end in ends} == {DYNAMIC, STATIC}
    for end in ends:
        assert offsets[end.cluster_id] == list(range(end.log_end))


@pytest.mark.parametrize(("cluster", "offset", "epoch"), [(DYNAMIC, 1526, 5), (STATIC, 750, 7)])
def test_the_truncations_are_the_ghosts_of_nodes_2_and_11(
    built_lake: Path, cluster: str, offset: int, epoch: int
) -> None:
    found = rows_of(built_lake, gold.TRUNCATIONS, f"cluster_id = '{cluster}'")
    assert [row.node_id for row in found] == [2, 11]
    for row in found:
        assert (row.from_offset, row.to_offset, row.epochs) == (offset, offset + 22, [epoch])
        assert (row.committed_lost, row.unproven_lost, row.superseded_lost) == (0, 0, 22)
        assert row.seen_in_round == "final"


@pytest.mark.spark
@pytest.mark.slow
def test_building_again_gives_the_same_rows(
    spark: SparkSession, built_lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = shutil.copytree(built_lake, tmp_path / "lake")
    lake = Lake(copied)
    before = {table.name: _rows(spark, lake, table.name) for table in TABLES}
    versions = _feed_versions(lake)
    assert versions
    assert run(BuildOptions(Lake(copied), json_output=True)) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [{"table": name, "rows": len(rows)} for name, rows in before.items()]
    assert {table.name: _rows(spark, lake, table.name) for table in TABLES} == before
    assert _feed_versions(lake) == versions, "changes in the feed without news"


def _feed_versions(lake: Lake) -> dict[str, int]:
    return {table.name: version(lake, table) for table in TABLES if table.change_feed}


def _by_cluster(history: list[Any]) -> dict[str, list[_Epoch]]:
    by_cluster: dict[str, list[_Epoch]] = defaultdict(list)
    for row in history:
        by_cluster[row.cluster_id].append(
            (row.epoch, row.leader_id, row.start_offset, row.end_offset)
        )
    return by_cluster


def _rows(spark: SparkSession, lake: Lake, table: str) -> list[str]:
    schema, name = table.split(".")
    rows = spark.read.format("delta").load(lake.path(schema, name)).collect()
    return sorted(str(row) for row in rows)
