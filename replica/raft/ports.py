"""What a host plugs into the core: a log, snapshots and a quorum-state store, a state machine.

The core calls none of these. A host opens them, builds `Raft` from what they hold (LogFacts,
ElectionState), carries out each `Effects` by them, and feeds results back as inputs. Storage
imports this module alone from the core; the values that both exchange are replica.model's.

Durability: a method marked *durable* has reached the disk when it returns; everything else may be
lost in a crash up to the last `flush`. Errors: DataError and UnreadableFileError of
replica.errors; an offset that doesn't fit the log is the host's bug, an assertion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from replica.model.batch import Batch
from replica.model.control import ControlRecord
from replica.model.election_state import ElectionState, LeaderAndEpoch
from replica.model.epochs import OffsetAndEpoch
from replica.model.log_facts import LogFacts, SnapshotFacts


class QuorumStateStore(Protocol):
    """quorum-state beside the log."""

    def read(self) -> ElectionState | None:
        """None where nothing was ever written. Raises DataError on a file it can't read."""

    def write(self, state: ElectionState) -> None:
        """Durable and atomic: after a crash the file is the old one or this one."""


class Log(Protocol):
    """The replicated log; one writer, no batch across two files."""

    def facts(self) -> LogFacts:
        """What the log holds now."""

    def append(self, batches: Sequence[Batch]) -> int:
        """Add batches at the log end; the first one's base offset is the log end.

        Returns the new log end. A batch without data is a control batch to encode.
        """

    def flush(self) -> int:
        """Durable: everything appended so far. Returns the flushed log end (exclusive)."""

    def truncate_to(self, end_offset: int) -> int:
        """Durable: cut everything at and above `end_offset`; a batch holding it goes whole.

        Returns the log end that is left, for the input `Truncated`.
        """

    def reset_to(self, snapshot_id: OffsetAndEpoch) -> None:
        """Durable: drop all batches; the log starts and ends at the snapshot's end offset and
        knows its epoch, and older snapshots go."""

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
    """One snapshot being written; nothing is visible before `freeze`."""

    def append(self, records: Sequence[bytes]) -> None:
        """Add records, each one's value bytes."""

    def freeze(self) -> SnapshotFacts:
        """Durable: footer, sync, rename. No append after it."""

    def abort(self) -> None:
        """Remove the part; nothing after `freeze`."""


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
