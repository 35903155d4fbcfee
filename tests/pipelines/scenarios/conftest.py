"""A lake of all named scenarios."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.delta import Lake
from pipelines.tables.bronze import CAPTURES
from pipelines.tables.contract import Contract
from replica.simulate.scenarios.library import SCENARIOS
from replica.simulate.scenarios.scenario import NamedScenario
from replica.simulate.scenarios.writing import write_capture
from tests.pipelines.scenarios.played import ORDER, Played, play

Row = dict[str, Any]


@dataclass
class ScenarioLake:
    """The built lake. Read only.

    moments: the name of each capture group's moment. A moment with the same files as the one before
    has no group.
    """

    path: Path
    moments: dict[str, str] = field(default_factory=dict)
    _tables: dict[str, dict[str, list[Row]]] = field(default_factory=dict)

    def rows(self, contract: Contract, played: Played, moment: str | None = None) -> list[Row]:
        """The rows of the scenario's cluster, and of one moment of it, sorted by the
        table's keys."""
        if contract.name not in self._tables:
            self._tables[contract.name] = self._read(contract)
        rows = self._tables[contract.name].get(played.cluster_id, [])
        if moment is None:
            return rows
        return [row for row in rows if self.moments[row["capture_group"]] == moment]

    def moments_of(self, played: Played) -> list[str]:
        """The moments that have a group."""
        groups = {row["capture_group"] for row in self.rows(CAPTURES, played)}
        return sorted({self.moments[group] for group in groups}, key=ORDER.index)

    def _read(self, contract: Contract) -> dict[str, list[Row]]:
        table = DeltaTable(Lake(self.path).path_of(contract)).to_pyarrow_table()
        by_cluster = defaultdict(list)
        for row in table.sort_by([(name, "ascending") for name in contract.keys]).to_pylist():
            by_cluster[row["cluster_id"]].append(row)
        return by_cluster


def each_scenario(
    wanted: Callable[[NamedScenario], bool] = lambda _: True,
) -> pytest.MarkDecorator:
    """A mark that runs a test once for each scenario that `wanted` accepts. The test gets the
    scenario's name as its argument `name`."""
    return pytest.mark.parametrize("name", [one.name for one in SCENARIOS if wanted(one)])


@pytest.fixture(scope="session")
def plays() -> dict[str, Played]:
    """All named scenarios, by name."""
    return {scenario.name: play(scenario) for scenario in SCENARIOS}


@pytest.fixture
def played(plays: dict[str, Played], name: str) -> Played:
    """The scenario that the test is about."""
    return plays[name]


@pytest.fixture(scope="session")
def lake(
    spark: SparkSession, plays: dict[str, Played], tmp_path_factory: pytest.TempPathFactory
) -> ScenarioLake:
    """The lake. Each scenario is a cluster of its own, so that one ingest for each moment and one
    build are enough for all."""
    return built(list(plays.values()), tmp_path_factory.mktemp("scenarios"))


def built(plays: list[Played], folder: Path) -> ScenarioLake:
    from jobs.build import run as build
    from jobs.cli.commands.lake import BuildOptions, IngestOptions
    from jobs.ingest import run as ingest

    names = set()
    for played in plays:
        for moment in played.moments:
            names.add(moment.name)
            shown = folder / "captures" / moment.name / played.scenario.name
            write_capture(moment.capture, str(shown))
    order = [name for name in ORDER if name in names]
    lake = ScenarioLake(folder / "lake")
    ingest(IngestOptions([str(folder / "captures")], Lake(lake.path), order=",".join(order)))
    assert build(BuildOptions(Lake(lake.path))) == 0
    for played in plays:
        for row in lake.rows(CAPTURES, played):
            (moment_name,) = set(Path(row["source"]).parts) & set(ORDER)
            lake.moments[row["capture_group"]] = moment_name
    return lake
