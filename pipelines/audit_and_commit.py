"""The end of a build: the audit, and then the commits."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pipelines.changed_clusters import DERIVED, ChangedClusters
from pipelines.delta.few_rows import row_count
from pipelines.delta.tables import open_newest
from pipelines.delta.unit_commits import Made, commit_units
from pipelines.last_build import note_build
from pipelines.quality.data_docs import PendingDocs
from pipelines.quality.judge import Judgement
from pipelines.quality.results import QualityRun, write_left_out
from pipelines.quality.suites import SUITES
from pipelines.quality.table_results import TableResult, broken_text, stop_if_broken, summed
from pipelines.stages.run import BuildStages
from replica.errors import CorruptDataError


@dataclass(frozen=True)
class AuditAndCommit:
    """A build of which all units are done."""

    stages: BuildStages
    clusters: ChangedClusters
    run_id: str
    """The run_id of the build's rows in gold.quality_results."""
    number: int = field(default_factory=lambda: int(time.time() * 1000))
    """The version of the build's Delta transactions."""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def run(self) -> dict[str, int]:
        """Adds the judgements up. Where none of them stops the build, commits what the units made.
        Returns the row counts by table. Raises CorruptDataError where a judgement stops the build,
        and deltalake's errors."""
        pins = self.stages.pins
        judgements = self._judgements()
        found = [summed(suite, pins.versions[name], judgements) for name, suite in SUITES.items()]
        for one in found:
            for verdict in one.verdicts:
                if not verdict.success:
                    self.stages.progress(f"{one.suite.name}: {broken_text(verdict)}")
        try:
            stop_if_broken(pins.lake, found)
        except CorruptDataError as error:
            self._quality.write(found, self._quality.begin_docs(found, stopped=str(error)))
            raise
        docs = self._quality.begin_docs(found)
        self.stages.progress("commit")
        made: defaultdict[str, list[Made]] = defaultdict(list)
        for result in self.stages.results:
            for part in result.made:
                made[part.table].append(part)
        for contract in DERIVED:
            name = contract.name
            commit_units(pins.lake, contract, made[name], pins.versions[name], self.number)
        return self._noted(found, docs, judgements)

    @property
    def _quality(self) -> QualityRun:
        lake, progress = self.stages.pins.lake, self.stages.progress
        return QualityRun(lake, "build", self.run_id, self.at, progress)

    def _noted(
        self,
        found: Sequence[TableResult],
        docs: PendingDocs,
        judgements: Sequence[Judgement],
    ) -> dict[str, int]:
        """Writes the build's results, and at the end the note that the build has ended. Gives the
        row counts by table."""
        pins, clusters = self.stages.pins, self.clusters
        tables = {one.name: open_newest(pins.lake, one) for one in DERIVED}
        counts = {name: row_count(one) or 0 for name, one in tables.items()}
        tables = {name: pins.table(name) for name in pins.versions} | tables
        states = {name: (str(one.metadata().id), one.version()) for name, one in tables.items()}
        versions = {name: version for name, (_, version) in states.items()}
        left_out = [row for one in self.stages.results for row in one.left_out]
        unchanged = {*clusters.all} - {*clusters.changed}
        write_left_out(pins.lake, self.run_id, self.at, versions, left_out, unchanged)
        told = [replace(one, version=versions[one.suite.name]) for one in found]
        self._quality.write(told, docs)
        note_build(pins.lake, states, counts, clusters.all, judgements, pins.passed_over.text)
        return counts

    def _judgements(self) -> list[Judgement]:
        """The judgements of this build, and those of the last build about unchanged clusters."""
        new = [one for result in self.stages.results for one in result.judgements]
        before = self.clusters.before
        derived_anew = {"", *self.clusters.changed, *self.clusters.removed}
        known = [] if before is None else before.judgements
        return [*new, *(one for one in known if one.cluster_id not in derived_anew)]
