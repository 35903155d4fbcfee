"""Bronze to silver to gold: every derived table computed anew, each in one Delta commit.

Between the layers, and behind the last, is pipelines.quality's gate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines import delta
from pipelines.gold.divergence_points import divergence_points
from pipelines.gold.findings import findings as gold_findings
from pipelines.gold.health import health
from pipelines.gold.leader_epoch_history import leader_epoch_history
from pipelines.gold.membership import membership_findings
from pipelines.gold.metadata_history import metadata_changes, metadata_history, state_ranges
from pipelines.gold.quorum.views import Sources, quorum_views
from pipelines.gold.rules import looks
from pipelines.gold.rules.health import EXPOSURE, FINDING
from pipelines.gold.same_snapshots import same_snapshot_findings
from pipelines.gold.snapshot_validity import judged_snapshots, snapshot_validity
from pipelines.gold.truncations import truncations
from pipelines.last_build import note_build
from pipelines.quality.gate import Gate
from pipelines.session_settings import settings
from pipelines.silver.agreed_replay import agreed_replay, buckets_for
from pipelines.silver.branch_batches import branch_batches
from pipelines.silver.branch_pieces import proven_ranges
from pipelines.silver.branch_records import branch_records
from pipelines.silver.committed_log import committed_log
from pipelines.silver.control_records import control_records
from pipelines.silver.group_findings import group_findings
from pipelines.silver.held_batches import held_batches
from pipelines.silver.known_epochs import known_epochs
from pipelines.silver.leader_epochs import leader_epochs
from pipelines.silver.lost_tails import lost_tails
from pipelines.silver.replica_logs import replica_logs
from pipelines.silver.snapshot_replay import (
    compared_rows,
    refused_records,
    same_snapshots,
    snapshot_replay,
)
from pipelines.silver.voter_sets import voter_sets
from pipelines.steps import Steps, nobody_asks
from pipelines.tables import bronze, gold, quorum, silver
from pipelines.tables.contract import Contract
from replica.errors import UsageError


class _Bronze(NamedTuple):
    """The tables of bronze.DERIVED_FROM, in its order, as far as the gate lets their rows in."""

    captures: DataFrame
    batches: DataFrame
    records: DataFrame
    snapshots: DataFrame
    snapshot_records: DataFrame
    state: DataFrame
    found: DataFrame


class _Silver(NamedTuple):
    """What gold is made from. held: from held_batches; groups: from group_findings; committed:
    silver.committed_log, of which `entries` is the number of rows."""

    control: DataFrame
    held: DataFrame
    groups: DataFrame
    committed: DataFrame
    entries: int


def build(
    spark: SparkSession,
    lake: delta.Lake,
    progress: Callable[[str], None],
    run_id: str | None = None,
    share: Callable[[float], None] = nobody_asks,
) -> dict[str, int]:
    """Compute all silver and gold tables of the lake; returns their row counts by table name.

    The same bronze gives the same rows. progress: told one line before each table, and for each
    expectation that a table breaks. run_id: of the rows in gold.quality_results. share: told how
    much of the build is done, from 0 to 1.
    UsageError: the lake has no bronze tables. CorruptDataError: a table's rows say that nothing may
    be derived from it.
    """
    if not delta.exists(lake, bronze.CAPTURES):
        raise UsageError(
            f"{lake.root} has no bronze tables: run `kraftlake ingest --lake {lake.root} PATH...` "
            "first, or name another lake"
        )
    with Gate(spark, lake, progress, run_id) as gate:
        steps = Steps(len(silver.SILVER) + len(gold.GOLD) + 3, share)
        building = _Building(spark, lake, progress, gate, steps)
        try:
            building.run()
        finally:
            building.release()
        judged = {one.table.name: one.version for one in gate.results}
        if building.versions.items() <= judged.items():  # or another build wrote in between
            note_build(lake, judged, building.counts)
        return building.counts


_OF_SMALL_TABLES = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "1",
}
"""Where all tables of bronze are in one partition each, what is computed of them needs no shuffle,
and so one Spark job a table. To broadcast one, or to adapt, takes a job more each time."""


@dataclass
class _Building:
    """One build. counts, versions: rows of the tables that were written, and their versions, by
    table name. kept: what is small, and found by reading what is large, so that it is read once."""

    spark: SparkSession
    lake: delta.Lake
    progress: Callable[[str], None]
    gate: Gate
    steps: Steps
    counts: dict[str, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    kept: list[DataFrame] = field(default_factory=list)

    def run(self) -> None:
        self.progress("quality of bronze")
        admitted = self.gate.admit(bronze.BRONZE)
        self.steps.done()
        tables = _Bronze(*(admitted[contract] for contract in bronze.DERIVED_FROM))
        with settings(self.spark, _OF_SMALL_TABLES if self.gate.read_small_only else {}):
            self._derive(tables)

    def _derive(self, tables: _Bronze) -> None:
        derived = self._silver(tables)
        self._history(tables, derived)
        written = self._replayed(tables, derived)
        self._metadata(written)
        self._quorum(tables, derived)
        of_health = self._health()
        self._judgements(tables, derived, self._keep(compared_rows(written)), of_health)
        self.progress("quality of gold")
        self.gate.admit(gold.GOLD)
        self.steps.done()

    def release(self) -> None:
        for rows in self.kept:
            rows.unpersist()

    def _keep(
        self, rows: DataFrame, level: StorageLevel = StorageLevel.MEMORY_AND_DISK
    ) -> DataFrame:
        self.kept.append(rows.persist(level))
        return self.kept[-1]

    def _write(self, contract: Contract, rows: DataFrame) -> None:
        """Makes `rows` the table's content."""
        self.progress(contract.name)
        delta.ensure_table(self.lake, contract)
        if contract.change_feed:
            delta.replace_by_merge(self.spark, self.lake, contract, rows)
        else:
            delta.replace(self.lake, contract, rows)
        written = delta.size(self.lake, contract)
        self.counts[contract.name] = written.row_count or 0
        self.versions[contract.name] = written.version
        self.steps.done()

    def _silver(self, of: _Bronze) -> _Silver:
        control = self._keep(control_records(of.records))
        held = self._keep(held_batches(of.captures, of.batches, control))
        logs = replica_logs(of.captures, held, of.snapshots, of.snapshot_records, of.state)
        groups = self._keep(group_findings(logs))
        self._write(silver.LEADER_EPOCHS, leader_epochs(of.captures, held, of.state))
        self._write(silver.VOTER_SETS, voter_sets(control, of.snapshot_records, of.state))
        self._write(silver.COMMITTED_LOG, committed_log(held, groups))
        self.progress("quality of silver")
        committed = self.gate.admit(silver.SILVER)[silver.COMMITTED_LOG]
        self.steps.done()
        return _Silver(control, held, groups, committed, self.counts[silver.COMMITTED_LOG.name])

    def _history(self, of: _Bronze, derived: _Silver) -> None:
        epochs = known_epochs(of.batches, derived.control, of.state)
        self._write(gold.LEADER_EPOCH_HISTORY, leader_epoch_history(epochs, derived.groups))
        self._write(gold.DIVERGENCE_POINTS, divergence_points(derived.groups, of.captures))
        proven = proven_ranges(derived.held, derived.groups)
        gone = truncations(of.batches, derived.committed, proven, of.captures)
        self._write(gold.TRUNCATIONS, gone)

    def _replayed(self, of: _Bronze, derived: _Silver) -> DataFrame:
        branch = branch_records(derived.committed, of.records)
        tails = lost_tails(derived.held, derived.committed, of.records)
        buckets = buckets_for(self.spark, derived.entries)
        written = agreed_replay(branch, of.snapshots, of.snapshot_records, buckets, tails)
        return self._keep(written, StorageLevel.DISK_ONLY)  # as large as two tables

    def _judgements(
        self, of: _Bronze, derived: _Silver, compared: DataFrame, of_health: DataFrame
    ) -> None:
        of_log = snapshot_replay(compared)
        judged = self._keep(judged_snapshots(of.captures, of.snapshots, of.found, of_log))
        self._write(gold.SNAPSHOT_VALIDITY, snapshot_validity(judged))
        refused = refused_records(compared, derived.committed)
        same = same_snapshots(compared)
        between = (
            membership_findings(of.captures, of.snapshot_records, of.state, derived.held),
            same_snapshot_findings(of.captures, of.snapshots, of.found, same),
        )
        inputs = of.captures, of.batches, of.found, judged, refused, derived.groups
        self._write(gold.FINDINGS, gold_findings(*inputs, between, of_health))

    def _metadata(self, written: DataFrame) -> None:
        self._write(gold.METADATA_HISTORY, metadata_history(written))
        self._write(gold.METADATA_CHANGES, metadata_changes(written))
        self._write(gold.STATE_RANGES, state_ranges(written))

    def _health(self) -> DataFrame:
        """The findings; exposures are written."""
        of_looks = (
            (quorum.REPLICA_STATUS, looks.STATUS),
            (bronze.CAPTURES, looks.CAPTURES),
            (gold.STATE_RANGES, looks.RANGES),
            (gold.LEADER_EPOCH_HISTORY, looks.EPOCHS),
        )
        rows = (delta.values(self.lake, contract, names) for contract, names in of_looks)
        history = delta.read(self.spark, self.lake, gold.METADATA_HISTORY)
        judged = self._keep(health(history, [*looks.looks(*rows)]))
        self._write(gold.FAILURE_EXPOSURE, judged.where(F.col("what") == EXPOSURE))
        return judged.where(F.col("what") == FINDING)

    def _quorum(self, of: _Bronze, derived: _Silver) -> None:
        sources = Sources(
            captures=of.captures,
            log_records=of.records,
            snapshots=of.snapshots,
            snapshot_records=of.snapshot_records,
            replica_state=of.state,
            held=derived.held,
            branch_batches=branch_batches(derived.committed, of.batches),
            findings=derived.groups,
            history=delta.read(self.spark, self.lake, gold.LEADER_EPOCH_HISTORY),
        )
        for contract, rows in quorum_views(sources, self._keep):
            self._write(contract, rows)
