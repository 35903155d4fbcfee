"""Observes how much of each captured log is left in a rehearsal."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from replica.machines.opaque import RecordingMachine
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.model.voters import VoterSet
from replica.raft.effects import Effects
from replica.raft.ports import StateMachine
from replica.simulate.host import SimulatedHost
from replica.simulate.invariants import Invariants
from replica.simulate.node import key_of
from replica.simulate.workload import OpaqueWorkload, Values


class PositionMachine(RecordingMachine):
    """The rehearsal's state machine, which keeps only a position: a rehearsal follows offsets and
    doesn't read records.

    next_offset: all records below this offset are committed, in the log or in a snapshot.
    """

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


class RehearsalWatch(Invariants):
    """Observes a run. Unlike its base class it raises no error for a broken invariant: what a run
    loses is a result of the rehearsal, not a bug."""

    def __init__(self, kept: dict[int, int]) -> None:
        super().__init__(NoClients(), VoterSet(), VoterSet())
        self.kept = kept
        self.replaced: dict[int, OffsetAndEpoch] = {}

    def opened(self, host: SimulatedHost) -> None:
        """Note that a node has recovered its log, without a torn end."""
        self._keep(host, host.log.log_end)

    def stepped(self, host: SimulatedHost, effects: Effects) -> None:
        """Note that a node has carried out effects."""
        if effects.truncate_to is not None:
            self._keep(host, min(host.log.log_end, effects.truncate_to))
        if effects.reset_to is not None:
            self.replaced[key_of(host).node_id] = effects.reset_to

    def _keep(self, host: SimulatedHost, end: int) -> None:
        node_id = key_of(host).node_id
        self.kept[node_id] = min(self.kept[node_id], end)
