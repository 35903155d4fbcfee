"""Checks epochs, votes and leaders. What a replica has sent to others must also be true after a
restart."""

from __future__ import annotations

from collections import Counter

from replica.model.control import ControlRecord, LeaderChange
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import VoterSet
from replica.raft.effects import Effects
from replica.raft.inputs import Request
from replica.raft.messages import VoteRequest, VoteResponse
from replica.raft.roles import Candidate, Leader
from replica.simulate.broken import broken, demand
from replica.simulate.host import SimulatedHost
from replica.simulate.ledger import Shadow
from replica.simulate.node import key_of


class Elections:
    """The leaders and the votes of all epochs. judged: the number of checks of each invariant, by
    its name."""

    def __init__(self, judged: Counter[str]) -> None:
        self._judged = judged
        self._leaders: dict[int, ReplicaKey] = {}
        self._leader_ids: dict[int, int] = {}
        self._votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}

    def has_led(self, key: ReplicaKey, epoch: int) -> bool:
        return self._leaders.get(epoch) == key

    def opened(self, host: SimulatedHost, old: Shadow) -> None:
        """Check a replica that has restarted. old: the replica's log, epoch and vote before the
        restart."""
        key, state = key_of(host), host.opened_with
        epoch = -1 if state is None else state.epoch
        demand(epoch >= old.promised or not old.promised, "votes", f"{key} forgot its epoch")
        demand(epoch >= old.stored or not old.stored, "epochs", f"{key} stored {old.stored}")
        voted = self._votes.get((key, epoch))
        known = None if state is None else state.voted
        if state is not None and known is None and state.leader_id == key.node_id:
            known = key  # the leader of an epoch voted for itself in this epoch
        same = voted is None or (known is not None and _same_vote(known, voted))
        demand(same, "votes", f"{key} forgot its vote in epoch {epoch}")
        if known is not None:
            self._votes.setdefault((key, epoch), known)

    def stepped(self, host: SimulatedHost, shadow: Shadow, effects: Effects) -> bool:
        """Check a step. Returns whether the step made the replica the leader of a new epoch."""
        key, role = key_of(host), host.raft.role
        self._judged["epochs"] += effects.quorum_state is not None
        if role.epoch != shadow.stored:
            broken("epochs", f"{key} acts in epoch {role.epoch}, stored is {shadow.stored}")
        if effects.quorum_state is not None and effects.quorum_state.leader_id != NO_NODE:
            self._name(effects.quorum_state.epoch, effects.quorum_state.leader_id)
        if effects.replies or effects.sends:
            if role.epoch < shadow.promised:
                broken("epochs", f"{key} fell to {role.epoch}")
            shadow.promised = role.epoch
        if isinstance(role, Candidate):
            self._vote(key, role.epoch, key)
            self._check_asked(key, shadow, effects)
        elif any(isinstance(each.message, VoteResponse) for each in effects.replies):
            self._check_answer(host, shadow, effects)
        if not isinstance(role, Leader):
            return False
        is_new = role.epoch not in self._leaders
        self._judged["one leader"] += is_new
        leader = self._leaders.setdefault(role.epoch, key)
        if leader != key:
            broken("one leader", f"{key} and {leader} in {role.epoch}")
        if is_new:
            self._check_first_record(key, role.epoch, effects.append[0].control[0], shadow.voters)
        return is_new

    def _check_first_record(
        self, leader: ReplicaKey, epoch: int, record: ControlRecord, voters: VoterSet
    ) -> None:
        """Check that a new leader's first record names the leader, the voters in force, and as
        granting voters only voters that have voted for the leader."""
        wrong = f"{leader} leads {epoch}, and writes {record}"
        assert isinstance(record, LeaderChange), wrong
        demand(record.leader_id == leader.node_id, "one leader", wrong)
        demand(set(record.voters) == voters.keys, "votes", wrong)
        granted = [
            voter
            for (voter, at), candidate in self._votes.items()
            if at == epoch and _same_vote(candidate, leader)
        ]
        for key in record.granting_voters:
            has_voted = key.matches(leader) or any(key.matches(voter) for voter in granted)
            demand(has_voted, "votes", wrong)

    def _check_asked(self, key: ReplicaKey, shadow: Shadow, effects: Effects) -> None:
        """Check that a candidate describes only a log that it has flushed, because a vote for that
        log also counts after a crash of the candidate."""
        flushed = max(shadow.flushed, *(each.offset for each in shadow.snapshots), 0)
        for send in effects.sends:
            message = send.message
            if isinstance(message, VoteRequest) and message.end_offset > flushed:
                broken("votes", f"{key} stands with {message.end_offset}, flushed is {flushed}")

    def _check_answer(self, host: SimulatedHost, shadow: Shadow, effects: Effects) -> None:
        """Check that a voter grants its vote to only one candidate in an epoch, and never to a
        candidate with an older log."""
        request = host.taken.message if isinstance(host.taken, Request) else None
        granted = any(
            isinstance(e.message, VoteResponse) and e.message.granted for e in effects.replies
        )
        if not granted or not isinstance(request, VoteRequest) or request.pre_vote:
            return
        key = key_of(host)
        if not self._vote(key, request.epoch, request.candidate):
            return
        theirs = election_order(OffsetAndEpoch(request.end_offset, request.last_epoch))
        older = f"{key} voted in {request.epoch} for an older log, {request.candidate}'s"
        demand(theirs >= election_order(shadow.position), "votes", older)

    def _vote(self, key: ReplicaKey, epoch: int, candidate: ReplicaKey) -> bool:
        """Note a vote. Returns whether this vote is the voter's first vote in the epoch."""
        known = self._votes.get((key, epoch))
        if known is None:
            self._votes[key, epoch] = candidate
            self._judged["votes"] += 1
            return True
        if not _same_vote(known, candidate):
            broken("votes", f"{key} voted twice in {epoch}")
        return False

    def _name(self, epoch: int, leader_id: int) -> None:
        known = self._leader_ids.setdefault(epoch, leader_id)
        demand(known == leader_id, "one leader", f"nodes {known} and {leader_id} in {epoch}")


def _same_vote(a: ReplicaKey, b: ReplicaKey) -> bool:
    """Whether two votes are equal. A vote read from quorum-state v0 has no directory id."""
    return a.matches(b) or b.matches(a)
