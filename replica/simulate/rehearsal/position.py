"""The rehearsal's state machine. It keeps only a position, because a rehearsal asks what becomes of
offsets, not what their records mean."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from replica.model.batch import Batch
from replica.model.election_state import LeaderAndEpoch
from replica.model.epochs import OffsetAndEpoch
from replica.raft.ports import StateMachine
from replica.simulate.workload import OpaqueWorkload, Values


class PositionMachine(StateMachine):
    """next_offset: all records below it are committed, in the log or in a snapshot."""

    def __init__(self) -> None:
        self.next_offset = 0

    @property
    def can_snapshot(self) -> bool:
        """False: there is no state to write."""
        return False

    def commit(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            self.next_offset = batch.end_offset

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        self.next_offset = snapshot_id.offset

    def snapshot_records(self) -> tuple[bytes, ...]:
        raise AssertionError("can_snapshot forbids it")

    def changed_ratio(self) -> float:
        """0: there is no state that changes."""
        return 0.0

    def snapshot_finished(self, snapshot_id: OffsetAndEpoch) -> None:
        """Do nothing, as no snapshot is written."""

    def leader_change(self, leader: LeaderAndEpoch) -> None:
        """Do nothing, as there are no clients."""


class NoClients(OpaqueWorkload):
    """A workload without appends."""

    name = "no clients"

    def machine(self) -> StateMachine:
        return PositionMachine()

    def state(self, machine: StateMachine) -> object:
        return machine.next_offset

    def batches(
        self, random: Random, number: int, machine: StateMachine, *, is_active: bool, is_idle: bool
    ) -> tuple[Values, ...]:
        return ()
