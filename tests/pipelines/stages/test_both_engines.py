"""A lake that this process builds holds what Spark builds, row for row."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli.commands.lake import IngestOptions
from jobs.cli.lake.ingest import run as ingest
from pipelines.build import build
from pipelines.delta import Lake, values
from pipelines.small_build import build_small
from pipelines.tables.gold import GOLD, METADATA_CHANGES
from pipelines.tables.silver import SILVER
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.writing import write_capture
from tests.bench.same_tables import rows
from tests.pipelines.scenarios.played import ORDER, play
from tests.pipelines.stages.test_cut import DYNAMIC, STATIC

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # .ci/run runs them behind `make test`


SPLIT_BRAIN, SLOW_FOLLOWER = "CVV60AADGxJrla1V7U-kxA", "EIm_XXuzo4m4O6tENYYFyA"
SCENARIOS = {SPLIT_BRAIN: "split-brain", SLOW_FOLLOWER: "slow-follower"}
"""By the ids of their clusters. Of the second one no branch lost; its id is between those of
clusters of which one did."""


@pytest.fixture(scope="module")
def captured(recorded_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bronze tables of the recorded clusters, and of two simulated ones."""
    folder = tmp_path_factory.mktemp("captured")
    shutil.copytree(recorded_lake, folder / "lake")
    for name in SCENARIOS.values():
        for moment in play(SCENARIOS_BY_NAME[name]).moments:
            write_capture(moment.capture, str(folder / "captures" / moment.name / name))
    ingest(IngestOptions([str(folder / "captures")], Lake(folder / "lake"), order=",".join(ORDER)))
    return folder / "lake"


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, captured: Path) -> Path:
    lake = captured.parent / "by_spark"
    shutil.copytree(captured, lake)
    build(spark, Lake(lake), lambda _: None)
    return lake


@pytest.fixture(scope="module")
def in_memory(captured: Path) -> Path:
    lake = captured.parent / "in_memory"
    shutil.copytree(captured, lake)
    assert build_small(Lake(lake), lambda _: None) is not None
    return lake


@pytest.mark.parametrize("table", [contract.name for contract in (*SILVER, *GOLD)])
def test_builds_with_and_without_spark_make_the_same_rows(
    by_spark: Path, in_memory: Path, table: str
) -> None:
    assert rows(str(in_memory), table) == rows(str(by_spark), table)


def test_spark_tells_the_changes_of_branches_that_lost_of_every_cluster(by_spark: Path) -> None:
    found = values(Lake(by_spark), METADATA_CHANGES, ("cluster_id", "commitment"))
    lost = Counter(row["cluster_id"] for row in found if row["commitment"] == "superseded")
    assert lost == {STATIC: 20, DYNAMIC: 20, SPLIT_BRAIN: 16}


def test_tables_that_spark_built_are_not_written_again(by_spark: Path) -> None:
    lake = Lake(by_spark)
    before = {path: path.stat().st_mtime_ns for path in _commits(by_spark)}
    assert build_small(lake, lambda _: None) is not None
    after = {path: path.stat().st_mtime_ns for path in _commits(by_spark)}
    assert {path.parts[-3] for path in after.keys() - before.keys()} == {"quality_results"}


def _commits(lake: Path) -> list[Path]:
    return [
        path for layer in ("silver", "gold") for path in lake.glob(f"{layer}/*/_delta_log/*.json")
    ]
