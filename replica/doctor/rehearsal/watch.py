"""Observes how much of each captured log is left in a rehearsal."""

from __future__ import annotations

from replica.doctor.rehearsal.position import NoClients
from replica.model.epochs import OffsetAndEpoch
from replica.model.voters import VoterSet
from replica.raft.effects import Effects
from replica.simulate.host import SimulatedHost
from replica.simulate.invariants import Invariants
from replica.simulate.node import key_of


class RehearsalWatch(Invariants):
    """Observes a run without checking invariants: a rehearsal is to find out whether they hold.

    kept: the end (exclusive) of what is left of each node's captured log, by node id. At first that
    is the end of the log. replaced: the snapshot that replaced a node's log, by node id.
    """

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
