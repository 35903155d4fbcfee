"""What the derived tables of one cluster are made from.

Tables that need every record get them from a Records: for a small cluster this process walks over
the records, for a large one Spark's workers do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

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
from pipelines.in_memory.health import Health, health, looks
from pipelines.in_memory.held import HeldBatches, ReplicaLogs
from pipelines.in_memory.histories import leader_epoch_history, truncations
from pipelines.in_memory.metadata import state_ranges
from pipelines.in_memory.plan import whole_snapshots
from pipelines.in_memory.quorum.log_growth import lengths_of
from pipelines.in_memory.quorum.replica_status import replica_status
from pipelines.in_memory.quorum.snapshot_cadence import snapshot_cadence
from pipelines.in_memory.quorum.voter_beliefs import stated_voters
from pipelines.in_memory.replay import HeldLog, Replayed, replayed
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
        return group_findings(self.cluster_id, self.bronze.captures, logs)

    @cached_property
    def committed(self) -> AgreedBranch:
        return committed_log(self.cluster_id, self.held, self.groups)


class Records(Protocol):
    """Results that need the cluster's records one by one."""

    @property
    def lengths(self) -> pa.Table:
        """The lengths of the records: LENGTHS of pipelines.in_memory.quorum.log_growth."""

    @property
    def compared(self) -> Sequence[Row]:
        """Rows of REPLAYED: the snapshots beside the agreed branch, and which of its records can't
        be applied; of each content, pair of contents and run one row."""

    @property
    def ranges(self) -> Sequence[Row]:
        """Rows of gold.state_ranges."""

    def health(self, looks: Iterable[Row]) -> Health:
        """The health of the states that pipelines.in_memory.health names."""


@dataclass(frozen=True)
class Gold:
    """The input of gold's tables, and intermediate results that several tables share. committed: as
    the gate behind silver passed it."""

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
        inputs = of.captures, silver.held, of.snapshots, of.state, self.stated, silver.groups
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
        """The rows of pipelines.in_memory.health."""
        of = self.bronze.captures, self.records.ranges, self.history
        return list(looks(self.status, *of))

    @cached_property
    def health(self) -> Health:
        return self.records.health(self.looks)


@dataclass(frozen=True)
class SmallRecords:
    """The records of a small cluster, replayed in this process."""

    silver: Silver
    committed: AgreedBranch

    @cached_property
    def lengths(self) -> pa.Table:
        return lengths_of(self.silver.bronze.records)

    @cached_property
    def _replayed(self) -> Replayed:
        of, tails = self.silver.bronze, tails_of(self.silver.held, self.committed)
        snapshots = [*whole_snapshots(of.snapshots)]
        records = of.records, of.snapshot_records
        return replayed(HeldLog(self.committed, *records, snapshots, [*tails]))

    @property
    def written(self) -> pa.Table:
        """What each record changes, as rows of WRITTEN."""
        return self._replayed.written

    @property
    def compared(self) -> Sequence[Row]:
        return self._replayed.compared

    @cached_property
    def ranges(self) -> Sequence[Row]:
        rows: list[Row] = state_ranges(self.written).to_pylist()
        return rows

    def health(self, looks: Iterable[Row]) -> Health:
        return health(self.written, looks)
