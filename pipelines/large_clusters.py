"""Clusters that are too large for one unit: the stages in which a build derives them, in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from pipelines.changed_clusters import files_of, offset_ranges
from pipelines.cluster.branch_facts import summed_facts
from pipelines.cluster.rows import Row
from pipelines.dialects import DATA_FUSION
from pipelines.gold.failure_exposure import StepRange
from pipelines.new_file import NewFile
from pipelines.replay.compared import folded
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan, planned
from pipelines.runners.spark import SparkRunner
from pipelines.runners.stage import Grain, Stage
from pipelines.stages import buckets, compare, large_cluster
from pipelines.stages.output import Replaced, UnitResult
from pipelines.stages.run import BuildStages
from pipelines.tables import bronze, gold, silver
from replica.doctor.health.past import Past, PastRange

_RECORDS_OF_A_RANGE = 500_000
"""About how many records are judged together, or read for a piece of the branch."""
_RECORDS_OF_A_BUCKET = 4_000_000
"""The most records of a part of a replay, which bound the memory of a task."""
_LEAST_OF_BUCKETS = 100_000
"""A cluster with at most this number of records is replayed in one part. In several parts, each
part would read all of the records."""
_MOST_READERS = 16
"""The most parts of a replay that each read all records of their cluster. One more reading takes
0.15 us of CPU time a record, and Spark's shuffle takes 5.6 us."""


@dataclass(frozen=True)
class LargeClusters:
    """The clusters of a build that are too large for one unit."""

    stages: BuildStages
    records: dict[str, int]
    """About how many records each cluster has."""
    replaced: Mapping[tuple[str, ...], Replaced]
    """The rows that the new rows of a cluster replace. The key is a tuple with the cluster's id
    alone."""
    rounds: frozenset[int]
    """The numbers of the ingest rounds that the build judges."""

    def run(self) -> None:
        """Runs all stages of these clusters."""
        records, replaced = self.records, self.replaced
        agreed = self._agree(records)
        plans, facts = self._survey(agreed)
        replayed = self._replay(agreed, plans)
        self._compare_changes(records)
        units = [
            large_cluster.LastTables(
                one,
                not one.log.is_whole,
                facts[one.cluster_id],
                folded(row for bucket, _ in replayed[one.cluster_id] for row in bucket.compared),
                [row for bucket, _ in replayed[one.cluster_id] for row in bucket.ranges],
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
        self.make_last_tables(units)

    def make_last_tables(self, units: Sequence[large_cluster.LastTables]) -> None:
        """Runs the last stages, which make the tables of gold that have few rows."""
        pasts = self._look_back(units)
        units = [replace(one, past=pasts.get(one.cluster_id)) for one in units]
        results = self.stages.run(
            "last tables", Grain.CLUSTER, large_cluster.last_tables, units, gold.GOLD
        )
        self.stages.ends += zip(units, results, strict=True)
        for result in results:
            self.stages.evidence += result.facts

    def _look_back(self, units: Sequence[large_cluster.LastTables]) -> dict[str, Past]:
        """Since when the exposures and reassignments of the newest state of each cluster have
        lasted, for clusters with a known state.

        The newest range of a cluster's history is read first, and mostly answers all questions. If
        it doesn't, ranges before it are read side by side: as many as run at once, then twice as
        many each time.
        """
        newest = self.stages.run("newest state", Grain.CLUSTER, large_cluster.newest, units)
        looking = {
            unit.cluster_id: _LookBack(unit, *result.facts)
            for unit, result in zip(units, newest, strict=True)
            if result.facts is not None
        }
        at_once = 1
        while asked := [unit for one in looking.values() for unit in one.next_units(at_once)]:
            results = self.stages.run("look back", Grain.OFFSETS, large_cluster.look_back, asked)
            for unit, result in zip(asked, results, strict=True):
                looking[unit.cluster_id].take(result.facts)
            at_once = max(self.stages.runner.at_once, 2 * at_once)
        return {cluster: one.past for cluster, one in looking.items()}

    def _agree(self, records: dict[str, int]) -> list[large_cluster.Agreed]:
        files = files_of(self.stages.pins, bronze.LOG_RECORDS)
        units = [
            large_cluster.Offsets(one, *bounds)
            for one in records
            for bounds in offset_ranges(files, one, _RECORDS_OF_A_RANGE)
        ]
        runs: defaultdict[str, list[UnitResult]] = defaultdict(list)
        for unit, found in zip(
            units,
            self.stages.run("runs", Grain.OFFSETS, large_cluster.judge_offsets, units),
            strict=True,
        ):
            runs[unit.cluster_id].append(found)
        agreeing = [
            large_cluster.Agreeing(
                one,
                [found.facts for found in runs[one]],
                any(found.left_out for found in runs[one]),
                records[one] // 100,
                Replaced((one,)),
                self.rounds,
            )
            for one in records
        ]
        results = self.stages.run(
            "agree", Grain.CLUSTER, large_cluster.agree, agreeing, silver.SILVER
        )
        agreed: list[large_cluster.Agreed] = [one.facts for one in results]
        self.stages.members += [member for one in agreed for member in one.members]
        return agreed

    def _survey(
        self, agreed: Sequence[large_cluster.Agreed]
    ) -> tuple[dict[str, ReplayPlan], dict[str, Any]]:
        """The plan of each cluster's replay, and the facts about its branch."""
        units = [unit for one in agreed for unit in large_cluster.pieces(one)]
        results = self.stages.run(
            "survey",
            Grain.BRANCH_RANGE,
            large_cluster.survey_piece,
            units,
            [silver.COMMITTED_LOG],
        )
        found: defaultdict[str, list[large_cluster.PieceFacts]] = defaultdict(list)
        partial_contents: defaultdict[str, list[str]] = defaultdict(list)
        for unit, one in zip(units, results, strict=True):
            if not isinstance(unit.of, PlannedSnapshot):
                found[unit.cluster_id].append(one.facts)
            elif one.facts:
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
            one.cluster_id: summed_facts(piece.facts for piece in found[one.cluster_id])
            for one in agreed
        }
        return plans, facts

    def _replay(
        self, agreed: Sequence[large_cluster.Agreed], plans: dict[str, ReplayPlan]
    ) -> dict[str, list[tuple[buckets.BucketFacts, UnitResult]]]:
        """By cluster_id: (facts, result) of each bucket of the cluster's replay."""
        units = []
        for one in agreed:
            plan = plans[one.cluster_id]
            if plan.runs or plan.snapshots:
                count = buckets_for(self.stages.runner.at_once, one.entries)
                units += [
                    buckets.Bucket(
                        one.cluster_id, bucket, count, one.log, plan, one.entries // count
                    )
                    for bucket in range(count)
                ]
        results = self._walked(units)
        found: dict[str, list[tuple[buckets.BucketFacts, UnitResult]]] = {
            one.cluster_id: [] for one in agreed
        }
        for unit, result in zip(units, results, strict=True):
            found[unit.cluster_id].append((result.facts, result))
        return found

    def _walked(self, units: Sequence[buckets.Bucket]) -> list[UnitResult]:
        """The results of the buckets. Each bucket reads the records that it needs. With Spark, the
        records of a cluster with many buckets are read once, and shuffled to the buckets."""
        stages = self.stages
        most = max((one.buckets for one in units), default=0)
        if not isinstance(stages.runner, SparkRunner) or most <= _MOST_READERS:
            written = [gold.METADATA_HISTORY, gold.METADATA_CHANGES]
            return stages.run("replay", Grain.BUCKET, buckets.replay_bucket, units, written)
        stages.progress(f"replay: {len(units)} of grain {Grain.BUCKET.value}, by a shuffle")
        spread: Stage[buckets.Spread, Iterator[pa.RecordBatch]] = Stage(
            "spread",
            Grain.BRANCH_RANGE,
            partial(buckets.spread_records, pins=stages.pins),
            weight=lambda unit: unit.records,
        )
        walk: Stage[Any, UnitResult] = Stage(
            "replay", Grain.BUCKET, partial(buckets.walk_bucket, pins=stages.pins)
        )
        spreads = [
            one
            for number, unit in enumerate(units)
            if not unit.bucket
            for one in buckets.spread_units(unit, number)
        ]
        found = stages.runner.shuffle(
            spread, spreads, buckets.SPREAD_GROUPS, ("position", "source", "offset"), walk, units
        )
        stages.results += found
        return found

    def _compare_changes(self, records: dict[str, int]) -> None:
        """Replaces new files of gold.metadata_changes by the rows in which they differ from the
        table, for clusters of which the table has rows. The files of all buckets are compared
        together."""
        contract = gold.METADATA_CHANGES
        stages = self.stages
        known = {
            one
            for one in records
            if stages.pins.columns(
                contract, ["offset"], f"{DATA_FUSION.of_clusters([one])} LIMIT 1"
            ).num_rows
        }
        new: dict[str, list[NewFile]] = {one: [] for one in known}
        for number, result in enumerate(self.stages.results):
            kept, files = compare.without_files_of(result, contract)
            clusters = {one.cluster_id for one in result.judgements if one.table == contract.name}
            if clusters and clusters <= known:  # then it is one cluster: the result is of a bucket
                self.stages.results[number] = kept
                new[min(clusters)] += files
        units = [unit for one, files in new.items() for unit in compare.changes(one, files)]
        self.stages.run(
            "compare changes", Grain.BRANCH_RANGE, compare.compare_changes, units, [contract]
        )


@dataclass
class _LookBack:
    """Searches one cluster's history, the newest range first, for the beginnings of the exposures
    and reassignments that its newest state has."""

    of: large_cluster.LastTables
    state_row: Row
    steps: Sequence[StepRange]
    """The ranges of the cluster's history that have not been read, newest first."""
    _read: PastRange | None = None

    def next_units(self, at_once: int) -> list[large_cluster.LookingBack]:
        """The next ranges, at most `at_once`; none once all questions are answered."""
        if self._read is not None and not self._read.waiting:
            return []
        asked = None if self._read is None else self._read.waiting
        ranges, self.steps = self.steps[:at_once], self.steps[at_once:]
        of = self.of.cluster_id, self.of.history, self.state_row
        return [large_cluster.LookingBack(*of, one, asked) for one in ranges]

    def take(self, older: PastRange) -> None:
        """Takes the result of the next range."""
        self._read = older if self._read is None else older.before(self._read)

    @property
    def past(self) -> Past:
        assert self._read is not None, "each history has a range"
        return self._read.past


def buckets_for(at_once: int, records: int) -> int:
    """The number of parts in which a cluster with this number of records is replayed. at_once: how
    many parts run at the same time."""
    if records <= _LEAST_OF_BUCKETS:
        return 1
    return max(at_once, records // _RECORDS_OF_A_BUCKET)
