"""The core's view of its log: start, end, epochs, snapshots and voter sets.

`LogState` is a frozen value. A handler that changes the log makes a new LogState, and records the
effect by which the host changes the real log. Voter sets and kraft.version are in force from their
append on, and truncation undoes both (KIP-853; Kafka: KRaftControlRecordStateMachine,
VoterSetHistory).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from replica.history.epochs import (
    assign,
    last_fetched_epoch,
    truncate_from_end,
    truncate_from_start,
)
from replica.history.fetch import LogView
from replica.model.batch import Batch
from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.epochs import (
    Epochs,
    OffsetAndEpoch,
    election_order,
    is_newer_than_log,
    last_epoch_of,
)
from replica.model.stored import LogFacts, SnapshotFacts
from replica.model.voters import VoterSet

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class HistoryEntry(Generic[_Value]):
    """A value that is in force from `offset` on, inclusive (Kafka: LogHistory.Entry).

    A snapshot's value is in force from the offset of the snapshot's last record on, which is its
    end offset - 1. So the offset is -1 for the bootstrap snapshot 0-0.
    """

    offset: int
    value: _Value


@dataclass(frozen=True, slots=True)
class LogState:
    """Where the log starts and ends, and its epochs, snapshots, voter sets and kraft.versions."""

    log_start: int
    """The log start offset (inclusive)."""
    log_end: int
    """The log end offset (exclusive)."""
    flushed_end: int
    """The offset up to which the log is flushed to disk (exclusive)."""
    epochs: Epochs
    snapshots: tuple[SnapshotFacts, ...]
    """The complete snapshots, ascending by id."""
    static_voters: VoterSet
    voter_sets: tuple[HistoryEntry[VoterSet], ...] = ()
    """The voter sets of the log and of its newest snapshot, ascending by offset."""
    versions: tuple[HistoryEntry[int], ...] = ()
    """The kraft.versions of the log and of its newest snapshot, ascending by offset."""

    @property
    def voters(self) -> VoterSet:
        """The voter set in force, committed or not."""
        return self.voter_sets[-1].value if self.voter_sets else self.static_voters

    @property
    def voters_offset(self) -> int | None:
        """The offset of the voter set in force; None for the static voter set."""
        return self.voter_sets[-1].offset if self.voter_sets else None

    @property
    def kraft_version(self) -> int:
        return self.versions[-1].value if self.versions else 0

    def kraft_version_at(self, offset: int) -> int:
        """The kraft.version in force at `offset` (inclusive), which a snapshot with the end offset
        `offset` + 1 holds (Kafka: KRaftControlRecordStateMachine.kraftVersionAtOffset)."""
        known = [entry.value for entry in self.versions if entry.offset <= offset]
        return known[-1] if known else 0

    def voters_at(self, offset: int) -> VoterSet:
        """The voter set in force at `offset` (inclusive)."""
        known = [entry.value for entry in self.voter_sets if entry.offset <= offset]
        return known[-1] if known else self.static_voters

    def voters_since(self, offset: int) -> tuple[VoterSet, ...]:
        """The voter set in force at `offset` (inclusive) and all newer voter sets."""
        newer = (entry.value for entry in self.voter_sets if entry.offset > offset)
        return (self.voters_at(offset), *newer)

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        return self.snapshots[-1].snapshot_id if self.snapshots else None

    @property
    def view(self) -> LogView:
        """The facts of the log by which replica.history.fetch decides how to answer a fetch."""
        earliest = self.snapshots[0].snapshot_id if self.snapshots else None
        return LogView(self.log_start, self.log_end, self.epochs, earliest, self.latest_snapshot)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record. For an empty log, the epoch of the snapshot at which the
        log starts, and 0 without such a snapshot."""
        earliest = self.snapshots[0].snapshot_id if self.snapshots else None
        return last_fetched_epoch(self.epochs, earliest)

    @property
    def position(self) -> OffsetAndEpoch:
        """The position that voters compare in an election: the log end, or the end of the newest
        snapshot if the snapshot is newer (KIP-630)."""
        log = OffsetAndEpoch(self.log_end, self.last_epoch)
        snapshot = self.latest_snapshot
        return log if snapshot is None else max(log, snapshot, key=election_order)

    def is_older_than(self, snapshot_id: OffsetAndEpoch) -> bool:
        """Whether the log is older than this snapshot, and must restart at the snapshot's end."""
        return is_newer_than_log(snapshot_id, self.log_end, last_epoch_of(self.epochs))

    def snapshot(self, snapshot_id: OffsetAndEpoch) -> SnapshotFacts | None:
        return next((s for s in self.snapshots if s.snapshot_id == snapshot_id), None)

    def appended(self, batches: Sequence[Batch]) -> LogState:
        """The state after an append at the log end. Voter sets in the batches are in force at
        once."""
        end, epoch, epochs = self.log_end, self.last_epoch, self.epochs
        for batch in batches:
            assert batch.base_offset == end, "a batch starts at the log end"
            assert batch.epoch >= epoch, "an epoch never goes back"
            epochs = assign(epochs, batch.epoch, end)
            end, epoch = batch.end_offset, batch.epoch
        state = replace(self, log_end=end, epochs=epochs)
        for batch in batches:
            if batch.control:
                state = _with_control(state, batch)
        return state

    def flushed(self, end_offset: int) -> LogState:
        """The state after a flush up to `end_offset` (exclusive)."""
        return replace(self, flushed_end=max(self.flushed_end, min(end_offset, self.log_end)))

    def truncated(self, end_offset: int) -> LogState:
        """The state after a cut at `end_offset` (exclusive). An older voter set or kraft.version
        may be in force again."""
        return replace(
            self,
            log_end=min(self.log_end, end_offset),
            flushed_end=min(self.flushed_end, end_offset),
            epochs=truncate_from_end(self.epochs, end_offset),
            voter_sets=tuple(v for v in self.voter_sets if v.offset < end_offset),
            versions=tuple(v for v in self.versions if v.offset < end_offset),
        )

    def with_snapshot(self, facts: SnapshotFacts) -> LogState:
        """The state with one more complete snapshot of this log."""
        others = [s for s in self.snapshots if s.snapshot_id != facts.snapshot_id]
        return replace(self, snapshots=_ascending((*others, facts)))

    def reset_to(self, facts: SnapshotFacts) -> LogState:
        """The state after the log was emptied and restarted at a newer snapshot."""
        offset = facts.snapshot_id.offset
        newer = [s for s in self.snapshots if s.snapshot_id > facts.snapshot_id]
        state = LogState(
            log_start=offset,
            log_end=offset,
            flushed_end=offset,
            epochs=(),
            snapshots=_ascending((facts, *newer)),
            static_voters=self.static_voters,
        )
        return _with_snapshot_control(state, facts)

    def started_at(self, log_start: int) -> LogState:
        """The state with the log start moved up to a snapshot's end offset. Below the new log
        start, only the voter set and the kraft.version in force there are kept."""
        kept = [s for s in self.snapshots if s.snapshot_id.offset >= log_start]
        return replace(
            self,
            log_start=log_start,
            epochs=truncate_from_start(self.epochs, log_start),
            snapshots=tuple(kept),
            voter_sets=_since(self.voter_sets, log_start - 1),
            versions=_since(self.versions, log_start - 1),
        )


def opened(facts: LogFacts, static_voters: VoterSet) -> LogState:
    """The view of a log that was just opened and recovered. All of that log is durable.

    The newest snapshot of this log replaces the control records below its end, as in Kafka
    (KRaftControlRecordStateMachine.updateState). A snapshot can be newer than the log, after a
    crash between the rename of the snapshot and the restart of the log. This function only lists
    such a snapshot, and `Raft` then restarts the log at the snapshot.
    """
    state = LogState(
        log_start=facts.log_start,
        log_end=facts.log_end,
        flushed_end=facts.log_end,
        epochs=facts.epochs,
        snapshots=_ascending(facts.snapshots),
        static_voters=static_voters,
    )
    start = facts.log_start
    contained = [s for s in state.snapshots if not state.is_older_than(s.snapshot_id)]
    for snapshot in contained[-1:]:
        state = _with_snapshot_control(state, snapshot)
        start = max(start, snapshot.snapshot_id.offset)
    for batch in facts.control_batches:
        if batch.base_offset >= start:
            state = _with_control(state, batch)
    return state


def _with_control(state: LogState, batch: Batch) -> LogState:
    for index, record in enumerate(batch.control):
        offset = batch.base_offset + index
        if isinstance(record, KRaftVoters):
            entry = HistoryEntry(offset, record.voters)
            state = replace(state, voter_sets=(*state.voter_sets, entry))
        elif isinstance(record, KRaftVersion):
            version = HistoryEntry(offset, record.kraft_version)
            state = replace(state, versions=(*state.versions, version))
    return state


def _with_snapshot_control(state: LogState, facts: SnapshotFacts) -> LogState:
    """The state whose histories of voter sets and of kraft.versions start with the snapshot's
    values. A snapshot of a static quorum has no such values."""
    offset = facts.snapshot_id.offset - 1
    voters = () if facts.voters is None else (HistoryEntry(offset, facts.voters),)
    versions = (HistoryEntry(offset, facts.kraft_version),) if facts.kraft_version else ()
    return replace(state, voter_sets=voters, versions=versions)


def _ascending(snapshots: Sequence[SnapshotFacts]) -> tuple[SnapshotFacts, ...]:
    """The snapshots sorted by epoch, then by offset. For the snapshots of one log, both orders are
    the same."""
    return tuple(sorted(snapshots, key=lambda facts: election_order(facts.snapshot_id)))


def _since(
    entries: tuple[HistoryEntry[_Value], ...], offset: int
) -> tuple[HistoryEntry[_Value], ...]:
    """The entry in force at `offset` (inclusive) and all newer entries."""
    older = [entry for entry in entries if entry.offset <= offset]
    return (*older[-1:], *(entry for entry in entries if entry.offset > offset))
