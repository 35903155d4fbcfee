"""A lake that this process builds holds what Spark's tasks build, row for row."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.build import build
from pipelines.delta import Lake, values
from pipelines.runners.local import LocalRunner
from pipelines.runners.spark import SparkRunner
from pipelines.tables.gold import GOLD, METADATA_CHANGES
from pipelines.tables.silver import SILVER
from tests.bench.same_tables import rows
from tests.pipelines.stages.lakes import add_scenarios, built, cut_in_pieces
from tests.pipelines.stages.test_cut import DYNAMIC, STATIC

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # .ci/run runs them behind `make test`

SPLIT_BRAIN, SLOW_FOLLOWER = "CVV60AADGxJrla1V7U-kxA", "EIm_XXuzo4m4O6tENYYFyA"
SCENARIOS = {SPLIT_BRAIN: "split-brain", SLOW_FOLLOWER: "slow-follower"}
"""By the ids of their clusters. Of the second one no branch lost; its id is between those of
clusters of which one did."""


@pytest.fixture(scope="module")
def captured(recorded_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bronze tables of the recorded clusters, and of two simulated ones."""
    lake = tmp_path_factory.mktemp("captured") / "lake"
    shutil.copytree(recorded_lake, lake)
    add_scenarios(lake, SCENARIOS.values())
    return lake


@pytest.fixture(scope="module", params=["whole", "in pieces", "by a shuffle"])
def by_spark(request: pytest.FixtureRequest, spark: SparkSession, captured: Path) -> Path:
    runner, lines = SparkRunner.of(spark), list[str]()
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "whole":
            cut_in_pieces(patch, most_readers=1 if request.param == "by a shuffle" else 16)
        lake = built(captured, captured.parent / f"by Spark, {request.param}", runner, lines.append)
    assert {one.name for one in runner.ran} & {"derive", "replay"}
    is_shuffled = any(line.endswith("by a shuffle") for line in lines)
    assert is_shuffled == (request.param == "by a shuffle")
    return lake


@pytest.fixture(scope="module")
def local(captured: Path) -> Path:
    return built(captured, captured.parent / "local")


@pytest.mark.parametrize("table", [contract.name for contract in (*SILVER, *GOLD)])
def test_both_engines_make_the_same_rows(by_spark: Path, local: Path, table: str) -> None:
    assert rows(str(local), table) == rows(str(by_spark), table)


def test_the_changes_of_branches_that_lost_are_told_of_every_cluster(by_spark: Path) -> None:
    found = values(Lake(by_spark), METADATA_CHANGES, ("cluster_id", "commitment"))
    lost = Counter(row["cluster_id"] for row in found if row["commitment"] == "superseded")
    assert lost == {STATIC: 20, DYNAMIC: 20, SPLIT_BRAIN: 16}


def test_tables_that_spark_built_are_not_written_again_here(by_spark: Path) -> None:
    before = _commits(by_spark)
    with LocalRunner() as runner:
        assert build(Lake(by_spark), runner, lambda _: None)
    assert {path.parts[-3] for path in _commits(by_spark) - before} == {"quality_results"}


def _commits(lake: Path) -> set[Path]:
    return {
        path for layer in ("silver", "gold") for path in lake.glob(f"{layer}/*/_delta_log/*.json")
    }
