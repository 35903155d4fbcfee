"""Bronze to silver to gold: every derived table computed anew, each in one Delta commit."""

from __future__ import annotations

from collections.abc import Callable

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from pipelines import delta
from pipelines.gold.divergence_points import divergence_points
from pipelines.gold.findings import findings as gold_findings
from pipelines.gold.leader_epoch_history import leader_epoch_history
from pipelines.gold.membership import membership_findings
from pipelines.gold.metadata_history import metadata_changes, metadata_history
from pipelines.gold.quorum.views import Sources, quorum_views
from pipelines.gold.same_snapshots import same_snapshot_findings
from pipelines.gold.snapshot_validity import judged_snapshots, snapshot_validity
from pipelines.gold.truncations import truncations
from pipelines.silver.branch_batches import branch_batches
from pipelines.silver.branch_records import branch_records
from pipelines.silver.committed_log import committed_log
from pipelines.silver.control_records import control_records
from pipelines.silver.group_findings import group_findings
from pipelines.silver.held_batches import held_batches
from pipelines.silver.known_epochs import known_epochs
from pipelines.silver.leader_epochs import leader_epochs
from pipelines.silver.lost_tails import lost_tails
from pipelines.silver.metadata_replay import metadata_replay
from pipelines.silver.replay_parts import default_buckets
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

_INPUTS = (
    bronze.CAPTURES,
    bronze.LOG_BATCHES,
    bronze.LOG_RECORDS,
    bronze.SNAPSHOTS,
    bronze.SNAPSHOT_RECORDS,
    bronze.REPLICA_STATE,
    bronze.FINDINGS,
)


def build(spark: SparkSession, lake: delta.Lake, progress: Callable[[str], None]) -> dict[str, int]:
    """Compute all silver and gold tables of the lake; returns their row counts by table name.

    The same bronze gives the same rows. progress: told one line before each table.
    UsageError: the lake has no bronze tables.
    """
    if not delta.exists(spark, lake, bronze.CAPTURES):
        raise UsageError(
            f"{lake.root} has no bronze tables: run `kraftlake ingest --lake {lake.root} PATH...` "
            "first, or name another lake"
        )
    captures, batches, records, snapshots, snapshot_records, state, found = (
        delta.read(spark, lake, contract) for contract in _INPUTS
    )
    counts: dict[str, int] = {}

    def write(contract: Contract, rows: DataFrame) -> None:
        progress(contract.name)
        counts[contract.name] = _write(spark, lake, contract, rows)

    # What is kept is small, and found by reading what is large: so read it once.
    kept: list[DataFrame] = []

    def keep(rows: DataFrame) -> DataFrame:
        kept.append(rows.persist(StorageLevel.MEMORY_AND_DISK))
        return kept[-1]

    try:
        control = keep(control_records(records))
        held = keep(held_batches(captures, batches, control))
        logs = replica_logs(captures, held, snapshots, snapshot_records, state)
        findings = keep(group_findings(logs))
        write(silver.LEADER_EPOCHS, leader_epochs(captures, held, state))
        write(silver.VOTER_SETS, voter_sets(control, snapshot_records, state))
        write(silver.COMMITTED_LOG, committed_log(held, findings))
        epochs = known_epochs(batches, control, state)
        write(gold.LEADER_EPOCH_HISTORY, leader_epoch_history(epochs, findings))
        write(gold.DIVERGENCE_POINTS, divergence_points(findings))
        committed = delta.read(spark, lake, silver.COMMITTED_LOG)
        write(gold.TRUNCATIONS, truncations(batches, committed))
        branch = branch_records(committed, records)
        replay = keep(replayed(branch, snapshots, snapshot_records, default_buckets(spark)))
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
        replay_inputs = branch, snapshots, snapshot_records, tails
        written = keep(metadata_replay(*replay_inputs, default_buckets(spark)))
        write(gold.METADATA_HISTORY, metadata_history(written))
        write(gold.METADATA_CHANGES, metadata_changes(written))
        history = delta.read(spark, lake, gold.LEADER_EPOCH_HISTORY)
        on_branch = branch_batches(committed, batches)
        of_bronze = (captures, records, snapshots, snapshot_records, state)
        for contract, rows in quorum_views(
            Sources(*of_bronze, held, on_branch, findings, history), keep
        ):
            write(contract, rows)
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
