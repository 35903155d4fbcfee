"""Bronze to silver to gold: every derived table computed anew, each in one Delta commit.

Between the layers, and behind the last, is pipelines.quality's gate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from pipelines import delta
from pipelines.gold.divergence_points import divergence_points
from pipelines.gold.findings import findings as gold_findings
from pipelines.gold.leader_epoch_history import leader_epoch_history
from pipelines.gold.membership import membership_findings
from pipelines.gold.metadata_history import metadata_changes, metadata_history
from pipelines.gold.same_snapshots import same_snapshot_findings
from pipelines.gold.snapshot_validity import judged_snapshots, snapshot_validity
from pipelines.gold.truncations import truncations
from pipelines.silver.branch_records import branch_records
from pipelines.silver.committed_log import committed_log
from pipelines.silver.control_records import control_records
from pipelines.silver.group_findings import group_findings
from pipelines.silver.held_batches import held_batches
from pipelines.silver.known_epochs import known_epochs
from pipelines.silver.leader_epochs import leader_epochs
from pipelines.silver.lost_tails import lost_tails
from pipelines.silver.metadata_replay import metadata_replay
from pipelines.silver.replay_parts import buckets_for
from pipelines.silver.replica_logs import replica_logs
from pipelines.silver.snapshot_replay import (
    refused_records,
    replayed,
    same_snapshots,
    snapshot_replay,
)
from pipelines.silver.voter_sets import voter_sets
from pipelines.tables import bronze, gold, silver
from pipelines.tables.contract import Contract
from replica.errors import UsageError

if TYPE_CHECKING:
    from pipelines.quality.gate import Gate

_INPUTS = (
    bronze.CAPTURES,
    bronze.LOG_BATCHES,
    bronze.LOG_RECORDS,
    bronze.SNAPSHOTS,
    bronze.SNAPSHOT_RECORDS,
    bronze.REPLICA_STATE,
    bronze.FINDINGS,
)


def build(
    spark: SparkSession,
    lake: delta.Lake,
    progress: Callable[[str], None],
    run_id: str | None = None,
) -> dict[str, int]:
    """Compute all silver and gold tables of the lake; returns their row counts by table name.

    The same bronze gives the same rows. progress: told one line before each table, and for each
    expectation that a table breaks. run_id: of the rows in gold.quality_results.
    UsageError: the lake has no bronze tables. CorruptDataError: a table's rows say that nothing may
    be derived from it.
    """
    if not delta.exists(spark, lake, bronze.CAPTURES):
        raise UsageError(
            f"{lake.root} has no bronze tables: run `kraftlake ingest --lake {lake.root} PATH...` "
            "first, or name another lake"
        )
    from pipelines.quality.gate import Gate  # Great Expectations takes seconds to import

    with Gate(spark, lake, progress, run_id) as gate:
        return _build(spark, lake, progress, gate)


def _build(
    spark: SparkSession, lake: delta.Lake, progress: Callable[[str], None], gate: Gate
) -> dict[str, int]:
    progress("quality of bronze")
    admitted = gate.admit(bronze.BRONZE)
    captures, batches, records, snapshots, snapshot_records, state, found = (
        admitted[contract] for contract in _INPUTS
    )
    counts: dict[str, int] = {}

    def write(contract: Contract, rows: DataFrame) -> None:
        progress(contract.name)
        counts[contract.name] = _write(spark, lake, contract, rows)

    # What is kept is small, and found by reading what is large: so read it once.
    kept: list[DataFrame] = []

    def keep(rows: DataFrame, level: StorageLevel = StorageLevel.MEMORY_AND_DISK) -> DataFrame:
        kept.append(rows.persist(level))
        return kept[-1]

    try:
        control = keep(control_records(records))
        held = keep(held_batches(captures, batches, control))
        logs = replica_logs(captures, held, snapshots, snapshot_records, state)
        findings = keep(group_findings(logs))
        write(silver.LEADER_EPOCHS, leader_epochs(captures, held, state))
        write(silver.VOTER_SETS, voter_sets(control, snapshot_records, state))
        write(silver.COMMITTED_LOG, committed_log(held, findings))
        progress("quality of silver")
        admitted_silver = gate.admit(silver.SILVER)
        epochs = known_epochs(batches, control, state)
        write(gold.LEADER_EPOCH_HISTORY, leader_epoch_history(epochs, findings))
        write(gold.DIVERGENCE_POINTS, divergence_points(findings))
        committed = admitted_silver[silver.COMMITTED_LOG]
        write(gold.TRUNCATIONS, truncations(batches, committed))
        branch = branch_records(committed, records)
        buckets = buckets_for(spark, counts[silver.COMMITTED_LOG.name])
        replay = keep(replayed(branch, snapshots, snapshot_records, buckets))
        judged = keep(judged_snapshots(captures, snapshots, found, snapshot_replay(replay)))
        write(gold.SNAPSHOT_VALIDITY, snapshot_validity(judged))
        refused = refused_records(replay, committed)
        between = (
            membership_findings(captures, state, held),
            same_snapshot_findings(captures, snapshots, found, same_snapshots(replay)),
        )
        rows = gold_findings(captures, batches, found, judged, refused, findings, between)
        write(gold.FINDINGS, rows)
        tails = lost_tails(held, committed, records)
        written = metadata_replay(branch, snapshots, snapshot_records, tails, buckets)
        written = keep(written, StorageLevel.DISK_ONLY)  # as large as two tables
        write(gold.METADATA_HISTORY, metadata_history(written))
        write(gold.METADATA_CHANGES, metadata_changes(written))
        progress("quality of gold")
        gate.admit(gold.GOLD)
    finally:
        for rows in kept:
            rows.unpersist()
    return counts


def _write(spark: SparkSession, lake: delta.Lake, contract: Contract, rows: DataFrame) -> int:
    """Makes `rows` the table's content; how many there are."""
    delta.ensure_table(spark, lake, contract)
    if contract.change_feed:
        delta.replace_by_merge(spark, lake, contract, rows)
        return delta.read(spark, lake, contract).count()
    delta.overwrite(lake, contract, rows)
    return delta.last_commit(spark, lake, contract).metrics.get("numOutputRows", 0)
