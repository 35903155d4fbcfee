"""Judges every table of a lake against its suite, whichever engine runs the units."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from pipelines.changed_clusters import ChangedClusters, check_ingested, cluster_groups
from pipelines.delta.conforming import open_conforming
from pipelines.dialects import DATA_FUSION
from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_versions
from pipelines.lake.lock import between_ingests
from pipelines.quality.data_docs import start_great_expectations
from pipelines.quality.judge import judge_stored
from pipelines.quality.results import QualityRun
from pipelines.quality.suite_sql import table_name
from pipelines.quality.suites import SUITES
from pipelines.quality.table_results import TableResult, broken_text, summed
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Grain, Stage
from pipelines.stages.output import UnitResult
from pipelines.stages.pins import Pins
from pipelines.stages.rounds import judge_damage
from pipelines.tables import bronze
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER

_RECORDS_OF_A_UNIT = 200_000
_LAYERS = tuple(tuple(one.name for one in layer) for layer in (bronze.DERIVED_FROM, SILVER, GOLD))


@dataclass(frozen=True)
class JudgedClusters:
    """A unit: the rows of some clusters in some tables of a layer. tables: their names."""

    clusters: tuple[str, ...]
    tables: tuple[str, ...]
    records: int
    """The approximate number of records of these clusters."""


def judge_clusters(unit: JudgedClusters, pins: Pins) -> UnitResult:
    """Judges the rows of a unit with delta-rs, whose errors it doesn't catch."""
    rows = {
        name: f"(SELECT * FROM {table_name(name)} WHERE {DATA_FUSION.of_clusters(unit.clusters)})"
        for name in unit.tables
    }
    contracts = [SUITES[name].contract for name in unit.tables]
    found, left_out = judge_stored(partial(pins.answer, unit.tables), contracts, rows)
    return UnitResult((), (*found,), (*left_out,))


def judge_lake(
    lake: Lake,
    runner: Runner,
    progress: Callable[[str], None],
    run_id: str | None = None,
    own: Callable[[], Sequence[TableResult]] = tuple,
) -> Sequence[TableResult]:
    """The results of all tables that the lake has. They are written into the lake, too. No table is
    derived, and gold.quarantined_rows stays as it is. progress, run_id: as in
    pipelines.build.build. own: gives the results of own tables. Raises UsageError where the lake
    has no bronze tables, or a table that isn't as its contract says."""
    check_ingested(lake)
    start_great_expectations()
    with between_ingests(lake, progress):
        pins = Pins(lake, newest_versions(lake, SUITES))
        for name, version in pins.versions.items():
            open_conforming(lake, SUITES[name].contract, version)
    clusters = ChangedClusters(pins, None)
    sizes = {one: size.records for one, size in clusters.sizes.items()}
    units = [
        JudgedClusters(group, there, sum(sizes[one] for one in group))
        for layer in _LAYERS
        for there in [tuple(name for name in layer if name in pins.versions)]
        for group in cluster_groups(sizes, _RECORDS_OF_A_UNIT)
        if there
    ]
    stage: Stage[JudgedClusters, UnitResult] = Stage(
        "judge", Grain.CLUSTER, partial(judge_clusters, pins=pins), weight=lambda u: u.records
    )
    progress(f"{stage.name}: {len(units)} of grain {stage.grain.value}")
    results = [*runner.run(stage, units), judge_damage(None, pins)]
    judgements = [one for result in results for one in result.judgements]
    found = [
        summed(suite, pins.versions[name], judgements)
        for name, suite in SUITES.items()
        if name in pins.versions
    ]
    found += own()
    for one in found:
        for verdict in one.verdicts:
            if not verdict.success:
                progress(f"{one.suite.name}: {broken_text(verdict)}")
    run = QualityRun(lake, "quality", run_id or str(uuid.uuid4()), datetime.now(UTC), progress)
    run.write(found, run.begin_docs(found))
    return found
