"""The input of the functions that make the derived tables of one cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial

import numpy as np
import pyarrow as pa

from pipelines.cluster.batches import NO_TIME
from pipelines.cluster.branch import pieces_of, tails_of
from pipelines.cluster.branch_facts import BranchFacts, BranchQuestions
from pipelines.cluster.bronze_rows import BronzeRows
from pipelines.cluster.cluster_tables import ClusterTables
from pipelines.cluster.control import (
    BatchKey,
    ControlRecords,
    SnapshotKey,
    control_records,
    snapshot_voter_sets,
)
from pipelines.cluster.replica_logs import HeldBatches, ReplicaLogs, unsynced_from
from pipelines.cluster.rows import Row
from pipelines.finding_rows import unstartable_nodes
from pipelines.gold.divergence_points import SettledLosses, with_settled_losses
from pipelines.gold.failure_exposure import EarlierExposure
from pipelines.gold.findings import Judged, emptied_rows, findings
from pipelines.gold.health_rules import FINDING, JudgedState
from pipelines.gold.known_epochs import known_epochs
from pipelines.gold.known_quorums import furthest_captures, newest_captures, quorum_files_of
from pipelines.gold.leader_epoch_history import leader_epoch_history
from pipelines.gold.newest_states import lags_of, newest_states, own_ends_in
from pipelines.gold.other_disks import NOTHING_BESIDE, BesideCluster
from pipelines.gold.replica_status import replica_status
from pipelines.gold.retention_forecast import MAX_MS
from pipelines.gold.snapshot_cadence import marks_of, snapshot_cadence
from pipelines.gold.snapshot_validity import judged_snapshots
from pipelines.gold.superseded_findings import beside_other_logs
from pipelines.gold.truncations import truncations
from pipelines.gold.unled import unled_by_files
from pipelines.gold.voter_beliefs import stated_voters
from pipelines.replay.compared_before import ComparedBefore
from pipelines.replay.plan import whole_snapshots
from pipelines.replay.reading import BranchLog
from pipelines.silver.capture_groups import group_findings, newest_group
from pipelines.silver.committed_log import AgreedBranch, committed_log, proven_ranges
from replica.doctor.check.formatted import judge_emptied
from replica.doctor.check.lineage import judge_voters
from replica.doctor.check.record_findings import passed_over_text
from replica.doctor.check.rule import Finding
from replica.doctor.quorum.known_quorum import KnownQuorum, QuorumFiles, known_quorum
from replica.doctor.quorum.recovery import plan_compared
from replica.doctor.quorum.went_back import ComparedRound
from replica.model.keys import ReplicaKey

_US_PER_MS = 1000


@dataclass(frozen=True)
class Silver:
    """The input of silver's tables, and intermediate results that several tables share."""

    tables: ClusterTables
    runs: pa.Table
    """Rows of silver.log_runs."""
    known_groups: Mapping[str, Row] = field(default_factory=dict)
    """Rows of silver.capture_groups that an earlier build made, by capture_group. These groups
    aren't compared again."""
    compared_before: ComparedBefore = field(default_factory=ComparedBefore)
    """The snapshots that an earlier build has compared with the log."""
    earlier_exposure: EarlierExposure | None = None
    """The exposures that an earlier build found for the state that was then the newest one; None
    where there are none."""
    beside: BesideCluster = NOTHING_BESIDE
    """What other directories show of this cluster's voters. They were captured in the round of the
    newest captures, and are of another cluster or without a metadata log."""

    @property
    def cluster_id(self) -> str:
        return self.tables.cluster_id

    @cached_property
    def bronze(self) -> BronzeRows:
        return BronzeRows.of(self.tables, self.runs)

    @cached_property
    def control(self) -> Mapping[BatchKey, ControlRecords]:
        return control_records(self.tables.control_records())

    @cached_property
    def snapshot_sets(self) -> Mapping[SnapshotKey, list[Row]]:
        return snapshot_voter_sets(self.tables.control_in_snapshots())

    @cached_property
    def held(self) -> HeldBatches:
        return HeldBatches(self.bronze, self.control)

    @cached_property
    def groups(self) -> list[Row]:
        """The rows of silver.capture_groups."""
        logs = ReplicaLogs(self.bronze, self.held, self.snapshot_sets)
        captures = self.bronze.whole_captures
        return group_findings(self.cluster_id, captures, logs, self.known_groups)

    @cached_property
    def agreed(self) -> AgreedBranch:
        """The agreed branch as ranges of runs."""
        return committed_log(self.cluster_id, self.held, self.groups)

    @cached_property
    def log(self) -> BranchLog:
        """The agreed branch as it is replayed."""
        return BranchLog(
            (*pieces_of(self.agreed, self.bronze.batches),),
            (*tails_of(self.held, self.agreed),),
            (*whole_snapshots(self.bronze.snapshots),),
        )

    @cached_property
    def newest_ms(self) -> int | None:
        """The time of the newest record of the agreed branch, in ms since 1970 (UTC); None where no
        record has a time."""
        batches, agreed = self.bronze.batches, self.agreed
        is_on = agreed.has(batches.base_offset, batches.leader_epoch, batches.crc)
        newest = int(batches.max_timestamp[np.flatnonzero(is_on)].max(initial=NO_TIME))
        return None if newest == NO_TIME else newest // _US_PER_MS

    @cached_property
    def asked(self) -> BranchQuestions:
        """The questions about the agreed branch that a pass over it answers."""
        newest = self.newest_ms
        recent_ms = 0 if newest is None else newest - MAX_MS
        return BranchQuestions(marks_of(self.bronze.snapshots), recent_ms)


@dataclass(frozen=True)
class Records:
    """The results of the passes over the cluster's records."""

    facts: BranchFacts
    """The facts of the agreed branch's batches."""
    compared: Sequence[Row]
    """Rows of REPLAYED: a row for each content of a snapshot, for each pair of contents of one
    snapshot id, and for each run of the log."""
    ranges: Sequence[Row]
    """Rows of gold.state_ranges."""


@dataclass(frozen=True)
class Gold:
    """The input of gold's tables, and intermediate results that several tables share."""

    silver: Silver
    records: Records
    judge_health: Callable[[Sequence[Row]], Sequence[JudgedState]]
    """The function that judges the newest states. Its argument is the result of
    Gold.newest_states."""

    @property
    def bronze(self) -> BronzeRows:
        return self.silver.bronze

    @cached_property
    def history(self) -> list[Row]:
        """Rows of gold.leader_epoch_history."""
        epochs = known_epochs(self.bronze, self.silver.control, self.silver.agreed)
        return leader_epoch_history(
            self.silver.cluster_id, epochs, self.silver.groups, self.silver.agreed
        )

    @cached_property
    def stated(self) -> Mapping[str, Row]:
        """By capture_id: the voters that the capture's files name. The result of stated_voters."""
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
        return list(snapshot_cadence(self.bronze.snapshots, self.records.facts.below))

    @cached_property
    def newest_captures(self) -> list[Row]:
        """The captures of the newest group, as rows of bronze.captures."""
        return newest_captures(self.bronze.whole_captures, newest_group(self.silver.groups))

    @cached_property
    def _newest_round(self) -> tuple[ComparedRound, QuorumFiles]:
        """(compared logs, content of the other files) of the newest capture group, by
        quorum_files_of."""
        of, silver = self.bronze, self.silver
        logs = ReplicaLogs(of, silver.held, silver.snapshot_sets)
        newest = self.newest_captures
        ids = {row["capture_id"] for row in newest}
        earlier = furthest_captures(self.status, of.state, ids, logs.unsynced_from)
        facts = silver.held, of.state, self.stated, of.findings, silver.tables
        return quorum_files_of(newest, earlier, logs, *facts)

    @cached_property
    def quorum(self) -> KnownQuorum:
        """The facts about the quorum that the newest capture group proves."""
        now, files = self._newest_round
        return self.silver.beside.doubted(known_quorum(now.group, now.commitment, files))

    @cached_property
    def groups(self) -> list[Row]:
        """The rows of silver.capture_groups. In the newest group losses are counted as `check`
        counts them, with the facts of quorum-state."""
        groups = self.silver.groups
        newest = newest_group(groups)
        settled = SettledLosses(cache(lambda: plan_compared(*self._newest_round)))
        return [
            with_settled_losses(row, settled) if row["capture_group"] == newest else row
            for row in groups
        ]

    @cached_property
    def stale(self) -> list[tuple[str, Finding]]:
        """(capture_id, finding) of each voter of the newest group whose directory lacks a vote or
        records that other files prove it had, or whose log ends long before the newest log."""
        return [
            (row["capture_id"], finding.in_file(row["source"]))
            for voter, finding in judge_voters(self.quorum)
            for row in self.newest_captures
            if voter.key.matches(ReplicaKey(row["node_id"], row["directory_id"]))
        ]

    @cached_property
    def emptied(self) -> list[Finding]:
        """The finding on each voter that once ran, if the round of the newest captures has only a
        directory without a metadata log for its node."""
        without_log = self.silver.beside.without_log
        return [*judge_emptied(self.quorum, {n: of.directory for n, of in without_log.items()})]

    @cached_property
    def findings(self) -> list[Row]:
        """All rows of gold.findings except those between clusters."""
        of, silver = self.bronze, self.silver
        captured = beside_other_logs(of.findings, self.status)
        replayed = self.records.compared
        emptied = emptied_rows(self.emptied, silver.beside, self.newest_captures)
        health = self.health(FINDING)
        judged = Judged(captured, self.judged, replayed, health, self.stale, emptied)
        return findings(of, silver.tables, silver.agreed, self.groups, judged)

    @cached_property
    def truncations(self) -> list[Row]:
        """Rows of gold.truncations."""
        proven = partial(proven_ranges, self.silver.held, self.silver.groups)
        of = self.bronze
        unsynced = unsynced_from(of.findings)
        return list(truncations(of.batches, self.silver.agreed, proven, of.captures, unsynced))

    @cached_property
    def judged(self) -> list[Row]:
        """The verdicts on snapshots, by judged_snapshots."""
        return judged_snapshots(self.bronze, self.records.compared)

    @cached_property
    def newest_states(self) -> list[Row]:
        """The rows of pipelines.gold.newest_states, each with further facts for judge_health: about
        the quorum, passed-over records, nodes that don't start, and logs that are behind."""
        of = self.bronze.captures, self.records.ranges, self.history, self.silver.agreed.end
        refusing = unstartable_nodes(self.newest_captures, self.bronze.findings)
        also = {
            "quorum": self.quorum,
            "passed_over": self.passed_over,
            "unstartable": {**refusing, **self.silver.beside.unstartable},
            "lags": lags_of(self.status, self.quorum),
            "own_ends": own_ends_in(self.newest_captures, self.silver.held),
            "by_verdict": unled_by_files(
                self.newest_captures,
                beside_other_logs(self.bronze.findings, self.status),
                self.quorum,
                self.silver.beside.without_log,
            ),
        }
        return [{**state_row, **also} for state_row in newest_states(self.status, *of)]

    @property
    def passed_over(self) -> str:
        """In words, the records that the replay passed over; "" where there are none."""
        return passed_over_text(self.records.facts.passed_over)

    @cached_property
    def judged_states(self) -> Sequence[JudgedState]:
        """The judgement of the cluster's newest state; empty where no state is known."""
        return self.judge_health(self.newest_states)

    def health(self, what: str) -> list[Row]:
        """The rows of the judged states of one kind, FINDING or EXPOSURE, as in
        JudgedState.rows."""
        return [row for one in self.judged_states for row in one.rows if row["what"] == what]
