"""The rehearsal's state machine. It keeps only a position, because a rehearsal asks what becomes of
offsets, not what their records mean."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from replica.machines.opaque import RecordingMachine
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.raft.ports import StateMachine
from replica.simulate.workload import OpaqueWorkload, Values


class PositionMachine(RecordingMachine):
    """The state machine. next_offset: all records below this offset are committed, in the log or in
    a snapshot."""

    def __init__(self) -> None:
        self.next_offset = 0

    def commit(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            self.next_offset = batch.end_offset

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        self.next_offset = snapshot_id.offset


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
