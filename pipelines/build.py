"""Bronze to silver to gold: the stages of a build in their order, whichever engine runs them.

A cluster that isn't large is derived in one unit, and small ones share one. A larger one is derived
by the same functions in several stages. Each unit judges what it reads and makes, and writes data
files. When all units are done, and no expectation that stops a build is broken, the driver commits
the files: one commit for each table.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pipelines import delta
from pipelines.changed_clusters import (
    DERIVED,
    ChangedClusters,
    files_of,
    offset_ranges,
    packed,
)
from pipelines.cluster.branch_facts import added
from pipelines.delta.publish import Made, publish
from pipelines.gold.membership import RoundMember, membership_findings, wanted_offsets
from pipelines.lake.delta_rs import newest_versions, open_if_there
from pipelines.lake.lock import between_ingests
from pipelines.last_build import last_build, note_build
from pipelines.quality.judge import Judgement, LeftOut
from pipelines.quality.results import write_left_out, write_results
from pipelines.quality.suites import SUITES
from pipelines.quality.verdicts import TableResult, broken_text, stop_if_broken, summed
from pipelines.replay.compared import folded
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan
from pipelines.replay.planning import planned
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Grain, Stage
from pipelines.stages import compare, cut, rounds
from pipelines.stages.output import BETWEEN_CLUSTERS, Output, Replaced, UnitResult, table_of
from pipelines.stages.pins import Pins
from pipelines.stages.whole import Clusters, derive
from pipelines.tables import bronze, gold, silver
from pipelines.tables.contract import Contract
from replica.errors import UsageError

_MOST_RECORDS = 200_000
"""The most records of a cluster that is derived in one unit. A record takes a kilobyte or two
there."""
_MOST_BYTES = 64 * 1024 * 1024
"""The most bytes of such a cluster's data files."""
_RECORDS_OF_A_UNIT = 20_000
"""How many records of small clusters are derived together."""
_RECORDS_OF_A_RANGE = 500_000
"""About how many records are judged together, or read for a piece of the branch."""
_RECORDS_OF_A_BUCKET = 4_000_000
"""The most records of a part of a replay, which bound the memory of a task."""
_LEAST_OF_BUCKETS = 100_000
"""The most records of a cluster that is replayed in one part: each part reads all of them."""
_MEMBERS_OF_A_UNIT = 50
_RECORDS = tuple(one.name for one in bronze.DERIVED_FROM)
_NOBODY = Replaced(())


def build(
    lake: delta.Lake,
    runner: Runner,
    progress: Callable[[str], None],
    run_id: str | None = None,
    share: Callable[[float], None] = lambda _: None,
) -> dict[str, int]:
    """Brings all silver and gold tables of the lake up to date. Gives their row counts by name.

    The same bronze gives the same rows. progress: is called with a line of text before each stage,
    and for each expectation that rows break. run_id: the run_id of the rows in
    gold.quality_results. share: is called with the part of the build that is done, from 0 to 1.
    Raises UsageError where the lake has no bronze tables, CorruptDataError where rows break an
    expectation that stops a build (then nothing is committed), and what delta-rs raises.
    """
    if open_if_there(lake, bronze.CAPTURES.name) is None:
        raise UsageError(
            f"{lake.root} has no bronze tables: run `kraftlake ingest --lake {lake.root} PATH...` "
            "first, or name another lake"
        )
    with between_ingests(lake, progress):
        versions = {one.name: delta.size(lake, one).version for one in bronze.BRONZE}
    for contract in DERIVED:
        delta.ensure_table(lake, contract)
    versions |= newest_versions(lake, [one.name for one in DERIVED])
    last = last_build(lake)
    before = last if last is not None and last.can_be_continued(lake) else None
    pins = Pins(lake, versions)
    one = _Build(pins, runner, ChangedClusters(pins, before), progress, share)
    return one.run(run_id or str(uuid.uuid4()))


@dataclass
class _Build:
    """A build that goes on. results: what its units have given so far."""

    pins: Pins
    runner: Runner
    clusters: ChangedClusters
    progress: Callable[[str], None]
    share: Callable[[float], None]
    number: int = field(default_factory=lambda: int(time.time() * 1000), init=False)
    results: list[UnitResult] = field(default_factory=list, init=False)
    members: list[RoundMember] = field(default_factory=list, init=False)
    _done: int = field(default=0, init=False)

    def run(self, run_id: str) -> dict[str, int]:
        """All stages, the audit, the commits. Gives row counts by table."""
        changed, known = self.clusters.changed, self.clusters.before
        if known is not None:
            self.progress(f"{len(changed)} of {len(self.clusters.all)} clusters have changed")
        whole, large = self._by_size(changed)
        groups = [*packed(whole, _RECORDS_OF_A_UNIT), *((one,) for one in large)]
        if self.clusters.gone:
            groups.append((*self.clusters.gone,))
        replaced = {one.clusters: one for one in self.clusters.replaced(groups)}
        self._derive_whole(whole, replaced)
        if large:
            self._derive_large(large, replaced)
        self._compare_clusters()
        self._stage("judge damage", Grain.TABLE, rounds.judge_damage, [None], (bronze.DAMAGE,))
        return self._publish(run_id)

    def _by_size(self, changed: Iterable[str]) -> tuple[dict[str, int], dict[str, int]]:
        """The clusters that are derived in one unit, and the others, with their records."""
        whole: dict[str, int] = {}
        large: dict[str, int] = {}
        for one in changed:
            size = self.clusters.sizes[one]
            is_large = size.records > _MOST_RECORDS or size.size_bytes > _MOST_BYTES
            (large if is_large else whole)[one] = size.records
        return whole, large

    def _stage(
        self,
        name: str,
        grain: Grain,
        function: Callable[..., UnitResult],
        units: Sequence[Any],
        writes: Sequence[Contract] = (),
    ) -> list[UnitResult]:
        """Runs a stage, and keeps what its units give."""
        if not units:
            return []
        self.progress(f"{name}: {len(units)} of grain {grain.value}")
        stage: Stage[Any, UnitResult] = Stage(
            name,
            grain,
            partial(function, pins=self.pins),
            _RECORDS,
            tuple(one.name for one in writes),
            _records_of,
        )
        found = self.runner.run(stage, units)
        self.results += found
        return found

    def _derive_whole(
        self, records: dict[str, int], replaced: dict[tuple[str, ...], Replaced]
    ) -> None:
        units = [
            Clusters(group, sum(map(records.__getitem__, group)), replaced[group], self._rounds)
            for group in packed(records, _RECORDS_OF_A_UNIT)
        ]
        gone = (*self.clusters.gone,)
        units += [Clusters((), 0, replaced[gone])] if gone else []
        for one in self._stage("derive", Grain.CLUSTER, derive, units, DERIVED):
            self.members += one.told

    @property
    def _rounds(self) -> frozenset[int]:
        return self.clusters.new_rounds

    def _derive_large(
        self, records: dict[str, int], replaced: dict[tuple[str, ...], Replaced]
    ) -> None:
        """Derives clusters that are too large for one unit."""
        agreed = self._agree(records)
        plans, facts = self._survey(agreed)
        replayed = self._replay(agreed, plans)
        self._compare_changes(records)
        units = [
            cut.Telling(
                one,
                not one.log.is_whole,
                facts[one.cluster_id],
                folded(row for told, _ in replayed[one.cluster_id] for row in told.compared),
                [row for told, _ in replayed[one.cluster_id] for row in told.ranges],
                tuple(
                    file.name
                    for _, result in replayed[one.cluster_id]
                    for made in result.made
                    if made.table == gold.METADATA_HISTORY.name
                    for file in made.files
                ),
                replaced[one.cluster_id,],
            )
            for one in agreed
        ]
        self._stage("tell", Grain.CLUSTER, cut.tell, units, gold.GOLD)

    def _agree(self, records: dict[str, int]) -> list[cut.Agreed]:
        files = files_of(self.pins, bronze.LOG_RECORDS)
        units = [
            cut.Offsets(one, *bounds)
            for one in records
            for bounds in offset_ranges(files, one, _RECORDS_OF_A_RANGE)
        ]
        runs: defaultdict[str, list[UnitResult]] = defaultdict(list)
        for unit, found in zip(
            units, self._stage("runs", Grain.OFFSETS, cut.judge_offsets, units), strict=True
        ):
            runs[unit.cluster_id].append(found)
        agreeing = [
            cut.Agreeing(
                one,
                [found.told for found in runs[one]],
                any(found.left_out for found in runs[one]),
                records[one] // 100,
                Replaced((one,)),
                self._rounds,
            )
            for one in records
        ]
        told = self._stage("agree", Grain.CLUSTER, cut.agree, agreeing, silver.SILVER)
        agreed: list[cut.Agreed] = [one.told for one in told]
        self.members += [member for one in agreed for member in one.members]
        return agreed

    def _survey(self, agreed: Sequence[cut.Agreed]) -> tuple[dict[str, ReplayPlan], dict[str, Any]]:
        """The plan of each cluster's replay, and the facts about its branch."""
        units = [unit for one in agreed for unit in cut.pieces(one)]
        told = self._stage(
            "survey", Grain.BRANCH_RANGE, cut.survey_piece, units, [silver.COMMITTED_LOG]
        )
        found: defaultdict[str, list[cut.PieceTold]] = defaultdict(list)
        partial_contents: defaultdict[str, list[str]] = defaultdict(list)
        for unit, one in zip(units, told, strict=True):
            if not isinstance(unit.of, PlannedSnapshot):
                found[unit.cluster_id].append(one.told)
            elif one.told:
                partial_contents[unit.cluster_id].append(unit.of.content_sha256)
        plans = {
            one.cluster_id: planned(
                one.branch,
                [piece.surveyed for piece in found[one.cluster_id]],
                one.log.snapshots,
                partial_contents[one.cluster_id],
            )
            for one in agreed
        }
        facts = {
            one.cluster_id: added(piece.facts for piece in found[one.cluster_id]) for one in agreed
        }
        return plans, facts

    def _replay(
        self, agreed: Sequence[cut.Agreed], plans: dict[str, ReplayPlan]
    ) -> dict[str, list[tuple[cut.BucketTold, UnitResult]]]:
        """What each bucket of each cluster's replay tells."""
        units = []
        for one in agreed:
            plan = plans[one.cluster_id]
            if plan.runs or plan.snapshots:
                buckets = buckets_for(self.runner.at_once, one.entries)
                units += [
                    cut.Bucket(
                        one.cluster_id, bucket, buckets, one.log, plan, one.entries // buckets
                    )
                    for bucket in range(buckets)
                ]
        written = [gold.METADATA_HISTORY, gold.METADATA_CHANGES]
        told = self._stage("replay", Grain.BUCKET, cut.replay_bucket, units, written)
        found: dict[str, list[tuple[cut.BucketTold, UnitResult]]] = {
            one.cluster_id: [] for one in agreed
        }
        for unit, result in zip(units, told, strict=True):
            found[unit.cluster_id].append((result.told, result))
        return found

    def _compare_changes(self, records: dict[str, int]) -> None:
        """Puts the rows that differ in the place of new files of gold.metadata_changes, for
        clusters of which the table has rows."""
        contract = gold.METADATA_CHANGES
        known = {
            one
            for one in records
            if self.pins.columns(
                contract, ["offset"], f"{delta.small.of_clusters([one])} LIMIT 1"
            ).num_rows
        }
        units: list[compare.Changed] = []
        for number, result in enumerate(self.results):
            kept, files = compare.without(result, contract)
            clusters = {one.cluster_id for one in result.judgements if one.table == contract.name}
            if files and clusters <= known:
                self.results[number] = kept
                for one in clusters:
                    units += compare.changes(one, files)
        self._stage(
            "compare changes", Grain.BRANCH_RANGE, compare.compare_changes, units, [contract]
        )

    def _compare_clusters(self) -> None:
        """Makes the findings of rounds: what captures that were taken together say of each
        other."""
        wanted = wanted_offsets(self.members)
        units = []
        for number, offsets in wanted.items():
            some = [one for one in self.members if one.ingest_seq == number]
            for start in range(0, len(some), _MEMBERS_OF_A_UNIT):
                units.append(rounds.Members((*some[start : start + _MEMBERS_OF_A_UNIT],), offsets))
        entries: dict[str, Any] = {}
        stage: Stage[Any, Any] = Stage(
            "first entries",
            Grain.ROUND,
            partial(rounds.first_entries, pins=self.pins),
            (bronze.LOG_BATCHES.name,),
        )
        for found in self.runner.run(stage, units):
            entries |= found
        rows = table_of(gold.FINDINGS, membership_findings(self.members, entries))
        out = Output(self.pins, _NOBODY)
        names = gold.FINDINGS.column_names
        held = self.pins.columns(gold.FINDINGS, names, BETWEEN_CLUSTERS)
        out.put_findings(held, rows, keep=self.clusters.before is not None, gone=self.clusters.gone)
        self.results.append(out.result())

    def _publish(self, run_id: str) -> dict[str, int]:
        """The audit, and then the commits."""
        judgements = self._judgements()
        at = datetime.now(UTC)
        lake = self.pins.lake
        found = [
            summed(suite, self.pins.versions[name], judgements) for name, suite in SUITES.items()
        ]
        for one in found:
            for verdict in one.verdicts:
                if not verdict.success:
                    self.progress(f"{one.suite.name}: {broken_text(verdict)}")
        left_out = [row for one in self.results for row in one.left_out]
        try:
            stop_if_broken(lake, found)
        except BaseException:
            write_results(lake, run_id, at, found)
            raise
        self.progress("commit")
        made: defaultdict[str, list[Made]] = defaultdict(list)
        for result in self.results:
            for part in result.made:
                made[part.table].append(part)
        for contract in DERIVED:
            seen = self.pins.versions[contract.name]
            publish(lake, contract, made[contract.name], seen, self.number)
        return self._written(run_id, at, found, judgements, left_out)

    def _written(
        self,
        run_id: str,
        at: datetime,
        found: Sequence[TableResult],
        judgements: Sequence[Judgement],
        left_out: Sequence[LeftOut],
    ) -> dict[str, int]:
        lake = self.pins.lake
        sizes = {one.name: delta.size(lake, one) for one in DERIVED}
        versions = dict(self.pins.versions) | {name: one.version for name, one in sizes.items()}
        counts = {name: one.row_count or 0 for name, one in sizes.items()}
        told = [replace(one, version=versions[one.suite.name]) for one in found]
        unchanged = {*self.clusters.all} - {*self.clusters.changed}
        write_left_out(lake, run_id, at, versions, left_out, unchanged)
        write_results(lake, run_id, at, told)
        note_build(lake, versions, counts, self.clusters.all, judgements)
        return counts

    def _judgements(self) -> list[Judgement]:
        """Those of this build, and those of an earlier one on clusters that have not changed."""
        new = [one for result in self.results for one in result.judgements]
        before = self.clusters.before
        derived_anew = {"", *self.clusters.changed, *self.clusters.gone}
        known = [] if before is None else before.judgements
        return [*new, *(one for one in known if one.cluster_id not in derived_anew)]


def _records_of(unit: Any) -> int:
    return getattr(unit, "records", 1)


def buckets_for(at_once: int, records: int) -> int:
    """The number of parts in which a cluster with this number of records is replayed. at_once: how
    many parts run side by side."""
    if records <= _LEAST_OF_BUCKETS:
        return 1
    return max(at_once, records // _RECORDS_OF_A_BUCKET)
