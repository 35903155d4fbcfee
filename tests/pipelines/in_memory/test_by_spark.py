"""A lake that this process builds holds what Spark builds, row for row."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.build import build
from pipelines.delta import Lake
from pipelines.small_build import build_small
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER
from tests.bench.same_tables import rows

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # .ci/run runs them behind `make test`


@pytest.fixture(scope="module")
def by_spark(
    spark: SparkSession, recorded_lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The recorded clusters, built by Spark."""
    lake = tmp_path_factory.mktemp("by_spark") / "lake"
    shutil.copytree(recorded_lake, lake)
    build(spark, Lake(lake), lambda _: None)
    return lake


@pytest.mark.parametrize("table", [contract.name for contract in (*SILVER, *GOLD)])
def test_both_make_the_same_rows(by_spark: Path, built_lake: Path, table: str) -> None:
    assert rows(str(built_lake), table) == rows(str(by_spark), table)


def test_what_spark_has_built_is_not_written_again(by_spark: Path) -> None:
    lake = Lake(by_spark)
    before = {path: path.stat().st_mtime_ns for path in _commits(by_spark)}
    assert build_small(lake, lambda _: None) is not None
    after = {path: path.stat().st_mtime_ns for path in _commits(by_spark)}
    assert {path.parts[-3] for path in after.keys() - before.keys()} == {"quality_results"}


def _commits(lake: Path) -> list[Path]:
    return [
        path for layer in ("silver", "gold") for path in lake.glob(f"{layer}/*/_delta_log/*.json")
    ]
