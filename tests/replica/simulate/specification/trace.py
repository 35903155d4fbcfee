"""The steps of simulated replicas as actions of the specification.

A step is judged by what is on the disk: the quorum-state and the batches that its effects wrote,
and the end that a flush made durable. Only the role, the voters in force and the high watermark are
what the core believes. A step may be several actions; then they are judged in the order in which
the core could take them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from replica.model.batch import Batch
from replica.model.control import KRaftVoters
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.stored import ElectionState
from replica.model.voters import VoterSet
from replica.raft.effects import Effects
from replica.raft.inputs import Request
from replica.raft.messages import VoteRequest, VoteResponse
from replica.raft.roles import Leader
from replica.simulate.broken import BrokenInvariantError
from replica.simulate.faulty_run import FaultyRun
from replica.simulate.host import SimulatedHost
from replica.simulate.invariants import Invariants
from replica.simulate.node import Layout, key_of
from replica.storage.batches import bytes_of
from tests.replica.simulate.specification.specification import (
    Entry,
    Name,
    Replica,
    Specification,
    Voters,
    below,
    demand,
)

_CRC = slice(17, 21)


class SpecifiedRun(FaultyRun):
    """A run under random faults in which only the specification judges every step. `run` and
    `settle` raise NotAllowedError."""

    def __init__(self, seed: int, layout: Layout | None = None) -> None:
        super().__init__(seed, layout)
        static = next(iter(self.nodes.values())).config.static_voters
        first = self.layout.first_voters
        self.judge = self.invariants = JudgedBySpecification(self.layout.workload, first, static)


class JudgedBySpecification(Invariants):
    """Replaces the invariants, whose notes the run needs: their findings are ignored.

    steps: the number of judged steps. actions: how often each action was taken.
    """

    specification: Specification
    steps = 0

    def opened(self, host: SimulatedHost) -> None:
        if not hasattr(self, "specification"):
            self.specification = Specification()
        restarted(self.specification, host)
        with suppress(BrokenInvariantError):
            super().opened(host)

    def stepped(self, host: SimulatedHost, effects: Effects) -> None:
        self.steps += 1
        stepped(self.specification, host, effects)
        with suppress(BrokenInvariantError):
            super().stepped(host, effects)


def restarted(specification: Specification, host: SimulatedHost) -> None:
    """Judges what a replica finds on its disk. A loss of power may have cut off its last step
    before any other node heard of it. What that step wrote is judged now."""
    name = _name(key_of(host))
    replica = specification.replicas.setdefault(name, Replica(name, _first_voters(host)))
    specification.crash(name)
    if host.opened_with is not None:
        _elect(specification, replica, host.opened_with)
    with host.disk.inspected():
        start, end = host.log.log_start, host.log.log_end
        entries = _entries(host.log.batches(start, end))
    kept = below(replica.log, start)
    if start and (not kept or kept[-1].end != start):
        specification.restart_at(name, start)
    log = [*below(replica.log, start), *entries]
    same = 0
    while same < min(len(log), len(replica.log)) and log[same] == replica.log[same]:
        same += 1
    end = log[same - 1].end if same else 0
    if end < replica.flushed:
        specification.truncate(name, end)
    elif same < len(replica.log):
        specification.lose(name, end)
    for entry in log[same:]:
        _write(specification, replica, entry)
    specification.flush(name, replica.end)  # opening a log makes it durable


def stepped(specification: Specification, host: SimulatedHost, effects: Effects) -> None:
    """Judges a step of a replica."""
    name = _name(key_of(host))
    replica, role = specification.replicas[name], host.raft.role
    if effects.quorum_state is not None:
        _elect(specification, replica, effects.quorum_state)
    demand(replica.epoch == role.epoch, f"{name} acts in {role.epoch}, stored is {replica.epoch}")
    if effects.truncate_to is not None:
        specification.truncate(name, host.log.log_end)
    if effects.reset_to is not None:
        specification.restart_at(name, effects.reset_to.offset)
    for entry in _entries(effects.append):
        _write(specification, replica, entry)
    if effects.append or effects.truncate_to is not None or effects.reset_to is not None:
        specification.go_by(name, _voters(host.raft.log.voters))
    for candidate in _granted(host, effects):
        specification.grant(name, candidate)
    if host.flushed_end != replica.flushed:
        specification.flush(name, host.flushed_end)
    reached = host.raft.high_watermark
    if reached is not None and reached != replica.committed:
        specification.commit(name, reached)
    if not isinstance(role, Leader):  # a leader that commits its own removal resigns at once
        specification.stop_leading(name)


def _elect(specification: Specification, replica: Replica, state: ElectionState) -> None:
    """Judges an epoch, a vote and a leader that were written to quorum-state."""
    name, epoch, vote = replica.name, state.epoch, _vote(replica, state)
    is_own = vote is not None and vote.means(name)
    if epoch != replica.epoch and is_own:
        specification.stand(name, epoch)
    elif epoch != replica.epoch:
        specification.adopt(name, epoch)
    if vote is None or replica.vote is None or not vote.means(replica.vote):
        demand(replica.vote is None, f"{name} forgets its vote for {replica.vote} in {epoch}")
        if vote is not None:
            specification.vote(name, vote)
    if state.leader_id == name.node_id:
        if specification.leaders.get(epoch) != name:
            specification.lead(name)
    elif state.leader_id != NO_NODE:
        leader = specification.leaders.get(epoch)
        known = leader is not None and leader.node_id == state.leader_id
        demand(known, f"{name} follows {state.leader_id} in {epoch}, which {leader} leads")


def _granted(host: SimulatedHost, effects: Effects) -> Iterator[Name]:
    """The candidates that get the vote. A pre-vote promises nothing."""
    asked = host.taken.message if isinstance(host.taken, Request) else None
    if isinstance(asked, VoteRequest) and not asked.pre_vote:
        for reply in effects.replies:
            if isinstance(reply.message, VoteResponse) and reply.message.granted:
                yield _name(asked.candidate)


def _vote(replica: Replica, state: ElectionState) -> Name | None:
    """The vote in quorum-state. A leader's quorum-state doesn't say that it voted for itself."""
    if state.voted is not None:
        return _name(state.voted)
    if state.leader_id == replica.name.node_id:
        return replica.name
    return None


def _write(specification: Specification, replica: Replica, entry: Entry) -> None:
    if specification.leaders.get(entry.epoch) == replica.name:
        written = specification.written.get((entry.epoch, entry.base))
        if written is None or written[0] != entry:
            specification.append(replica.name, entry)
            return
    specification.copy(replica.name, entry)


def _entries(batches: Iterable[Batch]) -> list[Entry]:
    return [_entry(batch) for batch in batches]


def _entry(batch: Batch) -> Entry:
    data = batch.data if batch.data else bytes_of(batch)
    voters = [each.voters for each in batch.control if isinstance(each, KRaftVoters)]
    named = _voters(voters[-1]) if voters else None
    return Entry(batch.base_offset, batch.end_offset, batch.epoch, bytes(data[_CRC]), named)


def _first_voters(host: SimulatedHost) -> Voters:
    facts = [each for each in host.log.facts().snapshots if each.snapshot_id == BOOTSTRAP_SNAPSHOT]
    bootstrap = facts[0].voters if facts else None
    return _voters(host.config.static_voters if bootstrap is None else bootstrap)


def _voters(voters: VoterSet) -> Voters:
    return frozenset(_name(voter.key) for voter in voters)


def _name(key: ReplicaKey) -> Name:
    return Name(key.node_id, "" if key == ReplicaKey(key.node_id) else key.directory_id)
