"""A state machine without state. A recorder uses it, because it keeps the log as it is and doesn't
read the records."""

from __future__ import annotations

from collections.abc import Iterable

from replica.model.batch import Batch
from replica.model.election_state import LeaderAndEpoch
from replica.model.epochs import OffsetAndEpoch
from replica.raft.ports import StateMachine

_EVERYTHING = 2**63 - 1


class RecordingMachine(StateMachine):
    """The state machine. next_offset: an offset behind all others, so that the host reads no
    committed batches for this machine."""

    def __init__(self) -> None:
        self.next_offset = _EVERYTHING

    @property
    def can_snapshot(self) -> bool:
        return False

    def commit(self, batches: Iterable[Batch]) -> None:
        """Never called."""

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        """Does nothing: the machine has no state."""

    def snapshot_records(self) -> tuple[bytes, ...]:
        """Never called."""
        raise AssertionError("can_snapshot forbids it")

    def changed_ratio(self) -> float:
        return 0.0

    def snapshot_finished(self, snapshot_id: OffsetAndEpoch) -> None:
        """Never called."""

    def leader_change(self, leader: LeaderAndEpoch) -> None:
        """Does nothing: the machine doesn't depend on the leader."""
