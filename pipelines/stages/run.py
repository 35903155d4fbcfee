"""Runs the stages of a build one after another in its driver, and collects the results of their
units."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pipelines.gold.membership import RoundMember
from pipelines.gold.verdicts import NewestEvidence
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Grain, Stage
from pipelines.stages.large_cluster import LastTables
from pipelines.stages.output import UnitResult
from pipelines.stages.pins import Pins
from pipelines.stages.whole_cluster import Clusters
from pipelines.tables import bronze
from pipelines.tables.contract import Contract

_READ = tuple(one.name for one in bronze.DERIVED_FROM)


@dataclass
class BuildStages:
    """The input that all stages of a build share, and the results of the stages that have run."""

    pins: Pins
    """The tables that the stages read, at fixed versions."""
    runner: Runner
    progress: Callable[[str], None]
    done: Callable[[Any], None]
    results: list[UnitResult] = field(default_factory=list, init=False)
    """The results of all units that have run so far."""
    members: list[RoundMember] = field(default_factory=list, init=False)
    """The captures in the ingest rounds that the build judges."""
    evidence: list[NewestEvidence] = field(default_factory=list, init=False)
    """The evidence of the newest captures of each cluster that was derived."""
    ends: list[tuple[Clusters | LastTables, UnitResult]] = field(default_factory=list, init=False)
    """The units that judge the newest states of clusters, each with its result."""

    def drop(self, clusters: Collection[str]) -> list[Clusters | LastTables]:
        """Drops the results of the units that judge the newest states of these clusters. Returns
        these units."""
        dropped = [one for one in self.ends if not {*one[0].clusters}.isdisjoint(clusters)]
        results = {id(result) for _, result in dropped}
        gone = {name for unit, _ in dropped for name in unit.clusters}
        self.results = [one for one in self.results if id(one) not in results]
        self.ends = [one for one in self.ends if id(one[1]) not in results]
        self.evidence = [one for one in self.evidence if one.draft.cluster_id not in gone]
        return [unit for unit, _ in dropped]

    def run(
        self,
        name: str,
        grain: Grain,
        function: Callable[..., UnitResult],
        units: Sequence[Any],
        writes: Sequence[Contract] = (),
    ) -> list[UnitResult]:
        """Runs a stage, keeps the results of its units, and returns them in the order of the units.
        Raises the errors of Runner.run."""
        if not units:
            return []
        self.progress(f"{name}: {len(units)} of grain {grain.value}")
        stage: Stage[Any, UnitResult] = Stage(
            name,
            grain,
            partial(function, pins=self.pins),
            _READ,
            tuple(one.name for one in writes),
            _records_of,
        )
        found = self.runner.run(stage, units, self.done)
        self.results += found
        return found


def _records_of(unit: Any) -> int:
    return getattr(unit, "records", 1)
