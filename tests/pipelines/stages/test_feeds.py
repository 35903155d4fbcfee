"""The change feeds of gold tell what a build changed, however it derives the clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run as ingest
from pipelines.build import build
from pipelines.delta import Lake
from pipelines.last_build import FILE_NAME
from pipelines.runners.local import LocalRunner
from pipelines.runners.runner import Runner
from pipelines.runners.spark import SparkRunner
from tests.pipelines.fed_tables import FedTables
from tests.pipelines.stages.lakes import cut_in_pieces

pytestmark = pytest.mark.slow


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    if request.param == "spark":
        yield SparkRunner.of(request.getfixturevalue("spark"))
    else:
        with LocalRunner(at_once=1) as found:
            yield found


@pytest.mark.parametrize("way", ["whole", "in pieces"])
def test_a_round_more_tells_the_rows_that_differ_and_a_build_of_everything_tells_none(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: Runner, way: str
) -> None:
    if way == "in pieces":
        cut_in_pieces(monkeypatch)
    lake = tmp_path / "lake"

    def captured(name: str, hour: int) -> None:
        nodes = str(data / "kafka-4.1.1-dynamic" / name)
        at = f"2026-11-21T0{hour}:00Z"
        assert ingest(IngestOptions([nodes], Lake(lake), captured_at=at)) == 0

    captured("live", 1)
    build(Lake(lake), runner, lambda _: None)
    before = FedTables.of(lake)
    captured("split", 2)
    build(Lake(lake), runner, lambda _: None)
    told = before.told()
    kinds = {row["_change_type"] for feed in told.values() for row in feed}
    assert kinds >= {"insert", "update_preimage", "update_postimage"}
    before = FedTables.of(lake)
    (lake / FILE_NAME).unlink()
    build(Lake(lake), runner, lambda _: None)
    assert not any(before.told().values())
