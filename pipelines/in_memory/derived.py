"""All derived tables of one cluster, in the order in which they are built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from pipelines.in_memory.branch import branch_batches, branch_records, lost_tails
from pipelines.in_memory.capture_groups import group_findings
from pipelines.in_memory.committed import committed_log, proven_ranges
from pipelines.in_memory.control import (
    BatchKey,
    ControlRecords,
    SnapshotKey,
    control_records,
    snapshot_voter_sets,
)
from pipelines.in_memory.epochs import known_epochs, leader_epochs, voter_sets
from pipelines.in_memory.groups import newest_groups
from pipelines.in_memory.health import health
from pipelines.in_memory.held import by_capture, held_batches, replica_logs
from pipelines.in_memory.histories import divergence_points, leader_epoch_history, truncations
from pipelines.in_memory.judgements import judgements
from pipelines.in_memory.metadata import metadata_tables
from pipelines.in_memory.quorum.views import Sources, quorum_tables
from pipelines.in_memory.replay import replayed
from pipelines.in_memory.rows import BronzeRows, HeldBatch, Row

Tables = Iterator[tuple[str, list[Row] | pa.Table]]
"""The name of each table, such as silver.voter_sets, and its rows."""


@dataclass(frozen=True)
class Derived:
    """What the tables are made from. held: by capture_id; groups: of group_findings; committed: the
    rows of silver.committed_log by cluster_id and offset."""

    bronze: BronzeRows
    control: Mapping[BatchKey, ControlRecords]
    snapshot_sets: Mapping[SnapshotKey, list[Row]]
    held: Mapping[str, list[HeldBatch]]
    groups: list[Row]
    committed: Mapping[tuple[str, int], Row]


def derived(bronze: BronzeRows) -> Derived:
    """Of all rows that bronze's tables have of the cluster."""
    control = control_records(bronze.records)
    snapshot_sets = snapshot_voter_sets(bronze.snapshot_records)
    held = by_capture(held_batches(bronze, control))
    groups = group_findings(bronze.captures, replica_logs(bronze, held, snapshot_sets))
    committed = committed_log(held, groups)
    return Derived(bronze, control, snapshot_sets, held, groups, committed)


def silver_tables(of: Derived) -> Tables:
    """The tables of silver."""
    yield "silver.leader_epochs", list(leader_epochs(of.bronze, of.held))
    yield "silver.voter_sets", voter_sets(of.bronze, of.control, of.snapshot_sets)
    yield "silver.committed_log", list(of.committed.values())


def gold_tables(of: Derived) -> Tables:
    """The tables of gold; gold.findings without those of `membership_findings`."""
    bronze = of.bronze
    history = leader_epoch_history(known_epochs(bronze, of.control), of.groups)
    yield "gold.leader_epoch_history", history
    pairs = divergence_points(of.groups, bronze.captures, newest_groups(of.groups))
    yield "gold.divergence_points", list(pairs)
    proven = proven_ranges(of.held, of.groups)
    gone = truncations(bronze.batches, of.committed, proven, bronze.captures)
    yield "gold.truncations", list(gone)
    branch = branch_records(of.committed, bronze.records)
    tails = lost_tails(of.held, of.committed, bronze.records)
    found = replayed(branch, bronze.snapshots, bronze.snapshot_records, tails)
    yield from metadata_tables(found.written)
    batches = branch_batches(of.committed, bronze.batches)
    sources = Sources(bronze, of.held, batches, of.groups, history, of.snapshot_sets)
    quorum = dict(quorum_tables(sources))
    yield from quorum.items()
    judged = health(found.written, quorum["gold.replica_status"], bronze.captures, history)
    yield "gold.failure_exposure", judged.exposures
    yield from judgements(bronze, found.compared, of.committed, of.groups, judged.findings)
