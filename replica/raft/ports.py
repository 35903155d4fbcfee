"""What a host plugs into the core: a log, snapshots and a quorum-state store, a state machine.

The core calls none of these. A host opens them, builds `Raft` from what they hold (LogFacts,
ElectionState), carries out each `Effects` by them, and feeds results back as inputs. Storage
imports this module alone from the core, so the values it needs are named here too.

Durability: a method marked *durable* has reached the disk when it returns; everything else may be
lost in a crash up to the last `flush`. Errors: DataError and UnreadableFileError of
replica.errors; an offset that doesn't fit the log is the host's bug, an assertion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.keys import NO_NODE, ReplicaKey
from replica.raft.batch import Batch, ControlRecord, KRaftVersion, KRaftVoters, LeaderChange
from replica.raft.voters import Endpoint, Voter, VoterSet

__all__ = [
    "Batch",
    "ControlRecord",
    "ElectionState",
    "Endpoint",
    "KRaftVersion",
    "KRaftVoters",
    "LeaderAndEpoch",
    "LeaderChange",
    "Log",
    "LogFacts",
    "QuorumStateStore",
    "SnapshotFacts",
    "SnapshotWriter",
    "Snapshots",
    "StateMachine",
    "Voter",
    "VoterSet",
]


@dataclass(frozen=True, slots=True)
class ElectionState:
    """What a replica must never forget: its epoch, its vote, its leader (Kafka: ElectionState).

    leader_id: NO_NODE where there is none. voted: None where it didn't vote; its directory id is
    ZERO_UUID where the file or the candidate had none. kraft_version chooses the file's form: 0
    writes `voter_ids` and drops the directory of the vote, 1 the other way round.
    """

    epoch: int
    leader_id: int = NO_NODE
    voted: ReplicaKey | None = None
    kraft_version: int = 1
    voter_ids: tuple[int, ...] = ()


class QuorumStateStore(Protocol):
    """quorum-state beside the log."""

    def read(self) -> ElectionState | None:
        """None where nothing was ever written. Raises DataError on a file it can't read."""

    def write(self, state: ElectionState) -> None:
        """Durable and atomic: after a crash the file is the old one or this one."""


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """A complete snapshot: `size` in bytes; the voters and kraft.version of its control records.

    voters is None and kraft_version 0 where it holds none. timestamp: its header's
    LastContainedLogTimestamp in ms.
    """

    snapshot_id: OffsetAndEpoch
    size: int
    timestamp: int = -1
    voters: VoterSet | None = None
    kraft_version: int = 0


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What an opened log holds, after recovery: all of it is durable.

    log_start inclusive, log_end exclusive. epochs: the leader-epoch cache. snapshots: complete
    ones, ascending, the bootstrap snapshot 0-0 included. control_batches: those from the end of the
    newest snapshot of this log on (from log_start where there is none), ascending, with `control`
    decoded; `data` may be left empty. Older ones may be there: snapshots stand for them.
    """

    log_start: int = 0
    log_end: int = 0
    epochs: tuple[EpochStart, ...] = ()
    snapshots: tuple[SnapshotFacts, ...] = ()
    control_batches: tuple[Batch, ...] = ()


class Log(Protocol):
    """The replicated log; one writer, no batch across two files."""

    def facts(self) -> LogFacts:
        """What the log holds now."""

    def append(self, batches: Sequence[Batch]) -> int:
        """Add batches at the log end; the first one's base offset is the log end (B26).

        Returns the new log end. A batch without data is a control batch to encode.
        """

    def flush(self) -> int:
        """Durable: everything appended so far. Returns the flushed log end (exclusive)."""

    def truncate_to(self, end_offset: int) -> int:
        """Durable: cut everything at and above `end_offset`; a batch holding it goes whole (B19).

        Returns the log end that is left, for the input `Truncated`.
        """

    def reset_to(self, snapshot_id: OffsetAndEpoch) -> None:
        """Durable: drop all batches; the log starts and ends at the snapshot's end offset and
        knows its epoch, and older snapshots go (G24)."""

    def read(self, start_offset: int, max_bytes: int, end_offset: int | None = None) -> memoryview:
        """Whole batches from the one that holds `start_offset` on, at least one if there is one.

        At most `max_bytes` but for the first; only batches that start below `end_offset`
        (exclusive; None: the log end). Empty at the log end.
        """

    def batches(self, start_offset: int, end_offset: int) -> Iterable[Batch]:
        """Batches from `start_offset` (inclusive) to `end_offset` (exclusive), with data, for a
        state machine."""

    def advance_log_start(self, offset: int) -> None:
        """Let the log start at `offset`, the end of a snapshot; whole segments below may go."""


class Snapshots(Protocol):
    """Snapshot files beside the log; what is being written has the suffix .part."""

    def write_part(self, snapshot_id: OffsetAndEpoch, position: int, data: bytes) -> None:
        """Bytes at `position` of a snapshot being fetched; position 0 starts it anew."""

    def freeze(self, snapshot_id: OffsetAndEpoch) -> SnapshotFacts:
        """Durable: validate the written part (header, footer, framing, CRC), sync and rename it.

        Raises DataError, and removes the part, where it isn't a whole snapshot.
        """

    def write(
        self, snapshot_id: OffsetAndEpoch, timestamp: int, facts: Sequence[ControlRecord]
    ) -> SnapshotWriter:
        """Start a snapshot of the local state machine: header with `timestamp` (ms, append time of
        the last record contained), then the control records `facts`."""

    def read(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        """A slice of a complete snapshot's bytes; it may cut batches (KIP-630: unaligned)."""

    def batches(self, snapshot_id: OffsetAndEpoch) -> Iterable[Batch]:
        """The whole content, for load_snapshot."""

    def delete(self, snapshot_ids: Sequence[OffsetAndEpoch]) -> None:
        """Remove complete snapshots; not there is no error."""


class SnapshotWriter(Protocol):
    """One snapshot being written; nothing is visible before `freeze` (G36)."""

    def append(self, records: Sequence[bytes]) -> None:
        """Add records, each one's value bytes."""

    def freeze(self) -> SnapshotFacts:
        """Durable: footer, sync, rename. No append after it."""

    def abort(self) -> None:
        """Remove the part; nothing after `freeze`."""


@dataclass(frozen=True, slots=True)
class LeaderAndEpoch:
    """leader_id is NO_NODE while the epoch's leader is unknown."""

    leader_id: int
    epoch: int


class StateMachine(Protocol):
    """What is replicated for (Kafka: RaftClient.Listener). Called in the order of the log.

    next_offset: everything below (exclusive) is applied. can_snapshot: whether its state can be
    written now; Kafka's metadata can't within a transaction (KIP-868).
    """

    next_offset: int

    @property
    def can_snapshot(self) -> bool: ...

    def commit(self, batches: Iterable[Batch]) -> None:
        """Committed batches, each once, ascending, control batches too."""

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        """Replace the whole state: at boot, or after a fetched snapshot; commit goes on at its end
        offset. Never called on a leader that was told so."""

    def snapshot_records(self) -> tuple[bytes, ...]:
        """The values of a snapshot at next_offset, for SnapshotWriter.append; voters and
        kraft.version are control records and the host's."""

    def changed_ratio(self) -> float:
        """The share of the newest snapshot's content that is changed or gone by now, from 0 to 1;
        1 where there is none (KIP-630: metadata.snapshot.min.changed_records.ratio)."""

    def snapshot_finished(self, snapshot_id: OffsetAndEpoch) -> None:
        """A snapshot this machine wrote is complete and durable."""

    def leader_change(self, leader: LeaderAndEpoch) -> None:
        """A new leader or epoch. The local replica is named once all records of earlier epochs
        have been committed here, so that its state is the newest."""
