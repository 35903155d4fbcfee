"""What a host plugs into the core: a log, snapshots and a quorum-state store, a state machine.

The core calls none of these. A host opens them, builds `Raft` from what they hold (LogFacts,
ElectionState), carries out each `Effects` with them, and feeds the results back as inputs.
replica.storage imports no other module of the core. The values that both exchange are those of
replica.model.

Durability: when a method marked *durable* returns, its change is on disk. In a crash, everything
since the last `flush` may be lost. Errors: methods raise DataError and UnreadableFileError of
replica.errors. An offset that doesn't fit the log is a bug of the host, and fails an assertion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from replica.model.batch import Batch
from replica.model.control import ControlRecord
from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import ElectionState, LeaderAndEpoch, LogFacts, SnapshotFacts


class QuorumStateStore(Protocol):
    """The file quorum-state beside the log."""

    def read(self) -> ElectionState | None:
        """What the file says; None where it was never written. Raises DataError where the file is
        damaged."""

    def write(self, state: ElectionState) -> None:
        """Durable and atomic: after a crash the file holds the old state or this one."""


class Log(Protocol):
    """The replicated log, which has one writer. A batch lies in one file."""

    def facts(self) -> LogFacts:
        """What the log holds now."""

    def append(self, batches: Sequence[Batch]) -> int:
        """Add batches at the log end; the first one's base offset is the log end.

        Returns the new log end (exclusive). The log encodes a batch that has no `data` yet.
        """

    def flush(self) -> int:
        """Durable: write everything appended so far to disk. Returns the flushed log end
        (exclusive)."""

    def truncate_to(self, end_offset: int) -> int:
        """Durable: cut everything at and above `end_offset`. A batch that holds records on both
        sides of `end_offset` is removed as a whole.

        Returns the new log end (exclusive), for the input `Truncated`.
        """

    def reset_to(self, snapshot_id: OffsetAndEpoch) -> None:
        """Durable: remove all batches and the older snapshots. The log then starts and ends at the
        snapshot's end offset, and its last epoch is the snapshot's."""

    def read(self, start_offset: int, max_bytes: int, end_offset: int | None = None) -> memoryview:
        """The bytes of whole batches, from the batch that holds `start_offset` on.

        The batches have at most `max_bytes` together; only a larger first batch comes whole
        nevertheless. Only batches that start below `end_offset` (exclusive; None for the log end)
        are read. The result is empty where `start_offset` is the log end.
        """

    def batches(self, start_offset: int, end_offset: int) -> Iterable[Batch]:
        """The batches from `start_offset` (inclusive) to `end_offset` (exclusive), each with its
        `data`, for a state machine."""

    def advance_log_start(self, offset: int) -> None:
        """Let the log start at `offset`, which is the end offset of a snapshot. Segments below it
        may be removed."""


class Snapshots(Protocol):
    """Snapshot files beside the log. A file that is being written has the suffix .part."""

    def write_part(self, snapshot_id: OffsetAndEpoch, position: int, data: bytes) -> None:
        """Write bytes at byte `position` of a snapshot that is being fetched. Position 0 begins the
        file anew."""

    def freeze(self, snapshot_id: OffsetAndEpoch) -> SnapshotFacts:
        """Durable: check the .part file (header, footer, framing, CRC), sync it and rename it.

        Where the file isn't a whole snapshot, this method removes it and raises DataError.
        """

    def write(
        self, snapshot_id: OffsetAndEpoch, timestamp: int, facts: Sequence[ControlRecord]
    ) -> SnapshotWriter:
        """Begin a snapshot of the local state machine: write the header, then the control records
        `facts`. timestamp: the append time (ms) of the last record in the snapshot, which the
        header names."""

    def read(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        """At most `max_bytes` of a complete snapshot, from byte `position` on. The slice may begin
        and end within a batch (KIP-630: unaligned records)."""

    def batches(self, snapshot_id: OffsetAndEpoch) -> Iterable[Batch]:
        """All batches of a complete snapshot, for StateMachine.load_snapshot."""

    def delete(self, snapshot_ids: Sequence[OffsetAndEpoch]) -> None:
        """Remove complete snapshots. It is no error if a snapshot doesn't exist."""


class SnapshotWriter(Protocol):
    """A snapshot that is being written. It isn't visible before `freeze`."""

    def append(self, records: Sequence[bytes]) -> None:
        """Add records by their values."""

    def freeze(self) -> SnapshotFacts:
        """Durable: write the footer, sync the file and rename it. Nothing may be appended
        afterwards."""

    def abort(self) -> None:
        """Remove the .part file. After `freeze` it does nothing."""


class StateMachine(Protocol):
    """What applies the committed records, in the order of the log (Kafka: RaftClient.Listener).

    next_offset: all records below it are applied. can_snapshot: whether a snapshot of the state can
    be written now; Kafka's metadata has none within a transaction (KIP-868).
    """

    next_offset: int

    @property
    def can_snapshot(self) -> bool: ...

    def commit(self, batches: Iterable[Batch]) -> None:
        """Apply committed batches. Each batch comes once, in the order of the log; control batches
        come too."""

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        """Replace the whole state by a snapshot's, at boot or after a snapshot was fetched.
        `commit` goes on at the snapshot's end offset. This method is never called while the state
        machine has been told that it leads."""

    def snapshot_records(self) -> tuple[bytes, ...]:
        """The values of the records of a snapshot that ends at next_offset, for
        SnapshotWriter.append. The host adds the control records (voters, kraft.version)."""

    def changed_ratio(self) -> float:
        """The share, from 0 to 1, of the newest snapshot's records that were changed or removed
        since that snapshot; 1 where there is no snapshot (KIP-630:
        metadata.snapshot.min.changed_records.ratio)."""

    def snapshot_finished(self, snapshot_id: OffsetAndEpoch) -> None:
        """Hear that a snapshot which this state machine wrote is complete and durable."""

    def leader_change(self, leader: LeaderAndEpoch) -> None:
        """Hear of a new leader or epoch. The local replica is named as leader only once this state
        machine has been given all records of earlier epochs."""
