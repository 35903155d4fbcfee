"""The rehearsal's state machine is a position: a rehearsal asks what becomes of offsets, not what
they mean."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from replica.model.batch import Batch
from replica.model.election_state import LeaderAndEpoch
from replica.model.epochs import OffsetAndEpoch
from replica.raft.ports import StateMachine
from replica.simulate.workload import OpaqueWorkload, Values


class PositionMachine(StateMachine):
    """next_offset: everything below (exclusive) is committed, by log or by snapshot."""

    def __init__(self) -> None:
        self.next_offset = 0

    @property
    def can_snapshot(self) -> bool:
        """Never: there is no state to write."""
        return False

    def commit(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            self.next_offset = batch.end_offset

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        self.next_offset = snapshot_id.offset

    def snapshot_records(self) -> tuple[bytes, ...]:
        raise AssertionError("can_snapshot forbids it")

    def changed_ratio(self) -> float:
        """Nothing changes."""
        return 0.0

    def snapshot_finished(self, snapshot_id: OffsetAndEpoch) -> None:
        """Nothing: no snapshot is taken."""

    def leader_change(self, leader: LeaderAndEpoch) -> None:
        """Nothing: no client is told."""


class NoClients(OpaqueWorkload):
    """Nobody appends anything."""

    name = "no clients"

    def machine(self) -> StateMachine:
        return PositionMachine()

    def state(self, machine: StateMachine) -> object:
        return machine.next_offset

    def batches(
        self, random: Random, number: int, machine: StateMachine, *, is_active: bool, is_idle: bool
    ) -> tuple[Values, ...]:
        return ()
