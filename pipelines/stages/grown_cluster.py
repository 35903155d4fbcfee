"""The stage that derives the tables of a cluster whose logs have only grown since the build before,
in one unit.

The batches and records that the build before judged (pipelines.unchanged_logs) are not judged
again, and their runs are taken from that build. Everything else is made by the same functions from
the same rows as in `whole_cluster`, so the tables are the same, row for row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cluster.batches import longs
from pipelines.cyclic_garbage import no_search_for_cycles
from pipelines.dialects import DATA_FUSION
from pipelines.gold.failure_exposure import EarlierExposure, StepRange
from pipelines.gold.inputs import Silver
from pipelines.gold.membership import members_of
from pipelines.gold.newest_states import newest_range, voters_below
from pipelines.gold.verdicts import newest_evidence
from pipelines.quality.judge import Judgement, judge_layer
from pipelines.quality.suite_sql import table_name
from pipelines.quality.suites import SUITES
from pipelines.replay.compared_before import ENTRY, VALID, ComparedBefore, equal_snapshots
from pipelines.silver.log_runs import log_runs, rows_of_runs
from pipelines.stages.large_cluster import FEW, judged
from pipelines.stages.output import Output, UnitResult
from pipelines.stages.pins import Pins
from pipelines.stages.stored import StoredTables
from pipelines.stages.whole_cluster import Clusters, DerivedClusters, derive, derived_from
from pipelines.tables import bronze, gold, silver
from pipelines.tables.contract import Contract
from pipelines.unchanged_logs import Stayed


@dataclass(frozen=True)
class Grown:
    """A unit: one cluster of which a part is unchanged."""

    cluster: Clusters
    stayed: Stayed

    @property
    def records(self) -> int:
        return self.cluster.records


@dataclass(frozen=True)
class _GrownTables(StoredTables):
    """The cluster's tables in the lake. The object keeps the contents of snapshots, because they
    are read twice."""

    contents: dict[str, pa.Table] = field(default_factory=dict)

    def snapshot_records(self, content_sha256: str) -> pa.Table:
        if content_sha256 not in self.contents:
            self.contents[content_sha256] = super().snapshot_records(content_sha256)
        return self.contents[content_sha256]


def derive_grown(unit: Grown, pins: Pins) -> UnitResult:
    """Makes the same rows as whole_cluster.derive. Where a new row is left out of what is derived,
    it calls whole_cluster.derive."""
    (cluster_id,) = unit.cluster.clusters
    out = Output(pins, unit.cluster.replaced, is_whole=True)
    known = pins.rows(silver.LOG_RUNS, [cluster_id])
    begin = begin_of_runs(known, unit.stayed.base_offset)
    few = {one: pins.rows(one, [cluster_id]) for one in FEW}
    new = _new_rows(pins, cluster_id, begin)
    _judge(out, cluster_id, few, new, unit.stayed.end_offset)
    if out.left_out:
        return derive(unit.cluster, pins)
    _note_stayed(out, cluster_id, begin, unit.stayed.end_offset)
    runs = _joined(known.filter(pc.field("base_offset") < begin), new[bronze.LOG_BATCHES])
    groups = pins.rows(silver.CAPTURE_GROUPS, [cluster_id]).to_pylist()
    tables = _GrownTables(cluster_id, pins, few)
    before = _compared_before(pins, cluster_id, few[bronze.SNAPSHOTS], begin)
    exposure = _earlier_exposure(pins, cluster_id)
    of = Silver(tables, runs, {row["capture_group"]: row for row in groups}, before, exposure)
    with no_search_for_cycles():
        derived, made = derived_from(of)
        for contract, rows in made.items():
            out.put(contract, rows)
        members = (*members_of(of, unit.cluster.rounds),)
        evidence = (*newest_evidence(derived),)
    out.carry_others()
    return out.result(DerivedClusters(members, evidence))


def begin_of_runs(runs: pa.Table, offset: int) -> int:
    """The greatest offset that lies within no run and isn't greater than the given offset. runs:
    rows of silver.log_runs."""
    base, last = longs(runs["base_offset"]), longs(runs["last_offset"])
    while True:
        reaching = base[(last >= offset) & (base < offset)]
        if not len(reaching):
            return offset
        offset = int(reaching.min())


def _joined(stayed: pa.Table, batches: pa.Table) -> pa.Table:
    """The runs of all batches. stayed: runs. batches: the batches that are in none
    of these runs."""
    rows = rows_of_runs(stayed)
    one = pa.repeat(pa.scalar(1, pa.int64()), batches.num_rows)
    new = batches.append_column("batches", one).select(rows.column_names).cast(rows.schema)
    return log_runs(pa.concat_tables([rows, new]))


def _new_rows(pins: Pins, cluster_id: str, begin: int) -> dict[Contract, pa.Table]:
    """The batches that begin at or after an offset, and their records."""
    where = f"{DATA_FUSION.of_clusters([cluster_id])} AND base_offset >= {begin:d}"
    tables = (bronze.LOG_BATCHES, bronze.LOG_RECORDS)
    return {one: pins.columns(one, one.column_names, where) for one in tables}


def _judge(
    out: Output,
    cluster_id: str,
    few: Mapping[Contract, pa.Table],
    new: Mapping[Contract, pa.Table],
    end_offset: int,
) -> None:
    """Judges the rows of bronze that weren't judged before, and all rows of the tables in `few`.
    end_offset: as in Stayed."""
    rows = {one: few[one] for one in few if one is not bronze.SNAPSHOTS}
    for one in judge_layer({**rows, **new}).values():
        out.note(one)
    mine = DATA_FUSION.of_clusters([cluster_id])
    where = f"{mine} AND end_offset >= {end_offset:d}"
    for table, other, of in (
        (bronze.SNAPSHOTS, bronze.SNAPSHOT_RECORDS, mine),
        (bronze.SNAPSHOT_RECORDS, bronze.SNAPSHOTS, where),
    ):
        judgements, left_out = judged(out.pins, [table], of, joined=[other])
        out.judgements += judgements
        out.left_out += left_out


def _note_stayed(out: Output, cluster_id: str, begin: int, end_offset: int) -> None:
    """Notes that unchanged rows break no expectation: a cluster with unchanged rows that break one
    has no unchanged part."""
    below = (
        (bronze.LOG_BATCHES, "base_offset", begin),
        (bronze.LOG_RECORDS, "base_offset", begin),
        (bronze.SNAPSHOT_RECORDS, "end_offset", end_offset),
    )
    mine = DATA_FUSION.of_clusters([cluster_id])
    for contract, column, end in below:
        where = f"{mine} AND {DATA_FUSION.identifier(column)} < {end:d}"
        query = f"SELECT count(*) AS n FROM {table_name(contract.name)} WHERE {where}"
        (batch,) = out.pins.answer([contract.name], query)
        count = batch["n"][0].as_py()
        unbroken = (0,) * len(SUITES[contract.name].expectations)
        if count:
            out.judgements.append(Judgement(contract.name, cluster_id, count, unbroken, {}))


def _compared_before(
    pins: Pins, cluster_id: str, snapshots: pa.Table, begin: int
) -> ComparedBefore:
    mine = DATA_FUSION.of_clusters([cluster_id])
    names = ("node_id", "directory_id", "end_offset", "epoch", "capture_id")
    valid = pins.columns(gold.SNAPSHOT_VALIDITY, names, f"{mine} AND {VALID}")
    equal = equal_snapshots(valid.to_pylist(), snapshots.to_pylist())
    branch = pins.columns(silver.COMMITTED_LOG, ENTRY, mine)
    return ComparedBefore(branch, equal, begin)


def _earlier_exposure(pins: Pins, cluster_id: str) -> EarlierExposure | None:
    """The exposures that the build before found for the state that was then the newest; None where
    that build knew no state."""
    mine = [cluster_id]
    known = newest_range(pins.rows(gold.STATE_RANGES, mine).to_pylist())
    if known is None:
        return None
    steps = StepRange(known["from_offset"], known["to_offset"])
    epochs = pins.rows(gold.LEADER_EPOCH_HISTORY, mine).to_pylist()
    found = pins.rows(gold.FAILURE_EXPOSURE, mine).to_pylist()
    return EarlierExposure(steps, voters_below(epochs, steps.stop), found)
