"""Epochs, votes and leaders: what a replica has told others holds after a restart too."""

from __future__ import annotations

from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey
from replica.raft.effects import Effects
from replica.raft.messages import VoteResponse
from replica.raft.roles import Leader
from replica.simulate.broken import broken, demand
from replica.simulate.host import SimulatedHost
from replica.simulate.ledger import Shadow
from replica.simulate.node import key_of


class Elections:
    """The leaders and the votes of all epochs."""

    def __init__(self) -> None:
        self._leaders: dict[int, ReplicaKey] = {}
        self._leader_ids: dict[int, int] = {}
        self._votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}

    def has_led(self, key: ReplicaKey, epoch: int) -> bool:
        return self._leaders.get(epoch) == key

    def opened(self, host: SimulatedHost, old: Shadow) -> None:
        """Check a replica that restarted. old: what was known of it before."""
        key, state = key_of(host), host.opened_with
        epoch = -1 if state is None else state.epoch
        demand(epoch >= old.promised or not old.promised, "votes", f"{key} forgot its epoch")
        demand(epoch >= old.stored or not old.stored, "epochs", f"{key} stored {old.stored}")
        voted = self._votes.get((key, epoch))
        known = None if state is None else state.voted
        if state is not None and known is None and state.leader_id == key.node_id:
            known = key  # the leader of an epoch voted for itself in it
        same = voted is None or (known is not None and _same_vote(known, voted))
        demand(same, "votes", f"{key} forgot its vote in epoch {epoch}")

    def stepped(self, host: SimulatedHost, shadow: Shadow, effects: Effects) -> bool:
        """Check a step. Returns whether it made the replica the leader of a new epoch."""
        key, role = key_of(host), host.raft.role
        if role.epoch != shadow.stored:
            broken("epochs", f"{key} acts in epoch {role.epoch}, stored is {shadow.stored}")
        if effects.quorum_state is not None and effects.quorum_state.leader_id != NO_NODE:
            self._name(effects.quorum_state.epoch, effects.quorum_state.leader_id)
        if effects.replies or effects.sends:
            if role.epoch < shadow.promised:
                broken("epochs", f"{key} fell to {role.epoch}")
            shadow.promised = role.epoch
        for reply in effects.replies:
            message = reply.message
            if isinstance(message, VoteResponse) and message.granted and role.voted is not None:
                known = self._votes.setdefault((key, role.epoch), role.voted)
                twice = f"{key} voted twice in {role.epoch}"
                demand(_same_vote(known, role.voted), "votes", twice)
        if not isinstance(role, Leader):
            return False
        is_new = role.epoch not in self._leaders
        leader = self._leaders.setdefault(role.epoch, key)
        if leader != key:
            broken("one leader", f"{key} and {leader} in {role.epoch}")
        return is_new

    def _name(self, epoch: int, leader_id: int) -> None:
        known = self._leader_ids.setdefault(epoch, leader_id)
        demand(known == leader_id, "one leader", f"nodes {known} and {leader_id} in {epoch}")


def _same_vote(a: ReplicaKey, b: ReplicaKey) -> bool:
    """Whether two votes are equal. A vote read from quorum-state v0 has no directory id."""
    unknown = ZERO_UUID in (a.directory_id, b.directory_id)
    return a.node_id == b.node_id and (unknown or a.directory_id == b.directory_id)
