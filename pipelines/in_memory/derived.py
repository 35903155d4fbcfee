"""The input of the functions that make the derived tables of one cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import pyarrow as pa

from pipelines.in_memory.batches import Batches
from pipelines.in_memory.branch import branch_batches, tails_of
from pipelines.in_memory.bronze_rows import BronzeRows
from pipelines.in_memory.committed import AgreedBranch, committed_log, proven_ranges
from pipelines.in_memory.control import (
    BatchKey,
    ControlRecords,
    SnapshotKey,
    control_records,
    snapshot_voter_sets,
)
from pipelines.in_memory.epochs import known_epochs
from pipelines.in_memory.group_finding import group_findings
from pipelines.in_memory.health import health, looks
from pipelines.in_memory.held import HeldBatches, ReplicaLogs
from pipelines.in_memory.histories import leader_epoch_history, truncations
from pipelines.in_memory.metadata import state_ranges
from pipelines.in_memory.quorum.log_growth import lengths_of
from pipelines.in_memory.quorum.replica_status import replica_status
from pipelines.in_memory.quorum.snapshot_cadence import snapshot_cadence
from pipelines.in_memory.quorum.voter_beliefs import stated_voters
from pipelines.in_memory.replay import HeldLog, replayed
from pipelines.in_memory.rows import Row
from pipelines.in_memory.snapshots import judged_snapshots


@dataclass(frozen=True)
class Silver:
    """The input of silver's tables, and intermediate results that several tables share."""

    cluster_id: str
    bronze: BronzeRows

    @cached_property
    def control(self) -> Mapping[BatchKey, ControlRecords]:
        return control_records(self.bronze.records)

    @cached_property
    def snapshot_sets(self) -> Mapping[SnapshotKey, list[Row]]:
        return snapshot_voter_sets(self.bronze.snapshot_records)

    @cached_property
    def held(self) -> HeldBatches:
        return HeldBatches(self.bronze, self.control)

    @cached_property
    def groups(self) -> list[Row]:
        """The rows of group_findings."""
        logs = ReplicaLogs(self.bronze, self.held, self.snapshot_sets)
        return group_findings(self.cluster_id, self.bronze.whole_captures, logs)

    @cached_property
    def committed(self) -> AgreedBranch:
        return committed_log(self.cluster_id, self.held, self.groups)


@dataclass
class Records:
    """Results that need the cluster's records one by one. For a small cluster this process walks
    over the records, for a large one Spark's workers do.

    lengths: rows of LENGTHS (pipelines.in_memory.quorum.log_growth). compared: rows of REPLAYED,
    one for each content of a snapshot, pair of contents and run of the log. ranges: rows of
    gold.state_ranges. health: rows of JUDGEMENT (pipelines.in_memory.health_rules), which are made
    last, because they need Gold's `looks`.
    """

    lengths: pa.Table
    compared: Sequence[Row]
    ranges: Sequence[Row]
    health: Sequence[Row] = ()


@dataclass(frozen=True)
class Gold:
    """The input of gold's tables, and intermediate results that several tables share. committed:
    the agreed branch as the gate behind silver passed it."""

    silver: Silver
    committed: AgreedBranch
    records: Records

    @property
    def bronze(self) -> BronzeRows:
        return self.silver.bronze

    @cached_property
    def history(self) -> list[Row]:
        """Rows of gold.leader_epoch_history."""
        epochs = known_epochs(self.bronze, self.silver.control)
        return leader_epoch_history(self.silver.cluster_id, epochs, self.silver.groups)

    @cached_property
    def branch(self) -> Batches:
        """The batches of the agreed branch."""
        return branch_batches(self.committed, self.bronze.batches)

    @cached_property
    def stated(self) -> Mapping[str, Row]:
        """The voters that the files of each capture name, by stated_voters."""
        of, sets = self.bronze, self.silver.snapshot_sets
        return stated_voters(of.captures, self.silver.held, of.snapshots, sets, of.state)

    @cached_property
    def status(self) -> list[Row]:
        """Rows of gold.replica_status."""
        of, silver = self.bronze, self.silver
        inputs = of.whole_captures, silver.held, of.snapshots, of.state, self.stated, silver.groups
        return list(replica_status(*inputs))

    @cached_property
    def cadence(self) -> list[Row]:
        """Rows of gold.snapshot_cadence."""
        return list(snapshot_cadence(self.bronze.snapshots, self.branch))

    @cached_property
    def truncations(self) -> list[Row]:
        """Rows of gold.truncations."""
        proven = partial(proven_ranges, self.silver.held, self.silver.groups)
        of = self.bronze
        return list(truncations(of.batches, self.committed, proven, of.captures))

    @cached_property
    def judged(self) -> list[Row]:
        """The verdicts on snapshots, by judged_snapshots."""
        return judged_snapshots(self.bronze, self.records.compared)

    @cached_property
    def looks(self) -> list[Row]:
        """The rows of pipelines.in_memory.health.looks."""
        of = self.bronze.captures, self.records.ranges, self.history
        return list(looks(self.status, *of))

    def health(self, what: str) -> list[Row]:
        """The rows of JUDGEMENT of one kind, FINDING or EXPOSURE."""
        return [row for row in self.records.health if row["what"] == what]


def small_gold(silver: Silver) -> tuple[Gold, pa.Table]:
    """The input of gold's tables of a small cluster, whose records this process replays; and what
    each record changes, as rows of WRITTEN."""
    bronze, committed = silver.bronze, silver.committed
    records, tails = (bronze.records, bronze.snapshot_records), tails_of(silver.held, committed)
    found = replayed(HeldLog.of(committed, records, bronze.snapshots, tails))
    ranges = state_ranges(found.written).to_pylist()
    made = Records(lengths_of(bronze.records), found.compared, ranges)
    gold = Gold(silver, committed, made)
    made.health = health(found.written, gold.looks)
    return gold, found.written
