"""The functions on DataFrames and a lake say the same of all scenarios, moment by moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from replica.simulate.scenarios.writing import write_capture
from tests.pipelines.frames.compared import assert_same, built_lake_of
from tests.pipelines.scenarios.played import BEFORE, HEALED, TOLD, Played

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("moment", [BEFORE, TOLD, HEALED])
def test_all_scenarios_are_told_alike(
    moment: str, spark: SparkSession, plays: dict[str, Played], tmp_path: Path
) -> None:
    for name, played in plays.items():
        for one in played.moments:
            if one.name == moment:
                write_capture(one.capture, str(tmp_path / "captures" / name))
    lake = built_lake_of(tmp_path / "captures", tmp_path / "lake")
    counts = assert_same(spark, tmp_path / "captures", lake)
    assert min(counts["leader_epochs"], counts["divergence_points"]) > 50
