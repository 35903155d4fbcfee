"""State machines that don't decode records. OpaqueMachine counts the batches, and hashes them in
order. RecordingMachine is for a recorder, and has no state."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from replica.errors import CorruptDataError
from replica.format.batch import decode_header
from replica.format.record import records_of
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.raft.ports import StateMachine

_STATE = struct.Struct(">q32s")


@dataclass(frozen=True, slots=True)
class OpaqueState:
    """The state of OpaqueMachine."""

    batches: int = 0
    """The number of committed batches, without control batches."""
    digest: bytes = bytes(32)
    """The SHA-256 over the previous digest and the bytes of the last batch; zeros at the
    beginning."""

    def after(self, data: bytes) -> OpaqueState:
        """The state with one more batch, given as its bytes on disk."""
        return OpaqueState(self.batches + 1, hashlib.sha256(self.digest + data).digest())


class OpaqueMachine(StateMachine):
    """Counts and hashes the committed batches. next_offset: every record below this offset is in
    `state`.

    Two replicas that have committed the same batches have the same state. So comparing two states
    compares two histories.
    """

    def __init__(self) -> None:
        self.state = OpaqueState()
        self.next_offset = 0

    @property
    def can_snapshot(self) -> bool:
        return True

    def commit(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            assert batch.base_offset == self.next_offset, "each committed batch comes once"
            if not decode_header(batch.data).is_control:
                self.state = self.state.after(batch.data)
            self.next_offset = batch.end_offset

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        """Replace the state by that of a snapshot. Raises CorruptDataError if the snapshot isn't
        one of this machine."""
        values = [
            record.value
            for batch in batches
            if not decode_header(batch.data).is_control
            for record in records_of(decode_header(batch.data), batch.data)
        ]
        if len(values) != 1 or values[0] is None or len(values[0]) != _STATE.size:
            name = f"{snapshot_id.offset}-{snapshot_id.epoch}"
            raise CorruptDataError(f"snapshot {name} holds no state of an opaque machine")
        self.state = OpaqueState(*_STATE.unpack(values[0]))
        self.next_offset = snapshot_id.offset

    def snapshot_records(self) -> Callable[[], tuple[bytes, ...]]:
        """The returned function gives the value of a single record, which holds the state."""
        value = _STATE.pack(self.state.batches, self.state.digest)
        return lambda: (value,)

    def changed_ratio(self) -> float:
        """Always 1, because a hash changes as a whole."""
        return 1.0

    def snapshot_finished(self, snapshot_id: OffsetAndEpoch) -> None:
        """Does nothing."""


_EVERYTHING = 2**63 - 1


class RecordingMachine(OpaqueMachine):
    """A state machine that applies nothing and writes no snapshots. next_offset: the
    highest offset, so that the host reads no committed batches for this machine."""

    def __init__(self) -> None:
        super().__init__()
        self.next_offset = _EVERYTHING

    @property
    def can_snapshot(self) -> bool:
        return False

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        """Does nothing: the machine has no state."""

    def changed_ratio(self) -> float:
        return 0.0
