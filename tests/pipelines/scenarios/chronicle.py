"""What really happened in a scripted quorum, noted by the simulator while its replicas act. Tables
that are made only from files are compared with it."""

from __future__ import annotations

from typing import NamedTuple

from replica.model.control import LeaderChange
from replica.model.keys import ReplicaKey
from replica.model.voters import VoterSet
from replica.raft.effects import Effects
from replica.raft.messages import VoteResponse
from replica.raft.roles import Leader
from replica.simulate.host import SimulatedHost
from replica.simulate.invariants import Invariants
from replica.simulate.ledger import LedgerBatch, Shadow, read_back
from replica.simulate.node import key_of
from replica.simulate.workload import Workload


class BatchId(NamedTuple):
    """A batch in any log. Its offsets are inclusive. crc: the four bytes in its header."""

    base: int
    last: int
    epoch: int
    crc: bytes


class Begun(NamedTuple):
    """A leader took office: the offset of its LeaderChange, and the record's time in ms."""

    epoch: int
    leader: ReplicaKey
    start: int
    at_ms: int
    granting: frozenset[int]


class Lost(NamedTuple):
    """A batch that a replica held and then lost: truncated, or unsynced when the power failed."""

    key: ReplicaKey
    batch: BatchId


class Chronicle(Invariants):
    """Takes notes and checks nothing: tests/replica/simulate runs the same scenarios with all
    invariants.

    begun: leader epochs in the order in which they began; an epoch may come twice.
    votes: (epoch, voter, candidate).
    committed: what a leader, or a follower by the leader's word, gave to its state machine.
    lost: in order.
    """

    def __init__(self, workload: Workload, first_voters: VoterSet, static_voters: VoterSet) -> None:
        super().__init__(workload, first_voters, static_voters)
        self._static = static_voters
        self.begun: list[Begun] = []
        self.votes: set[tuple[int, int, int]] = set()
        self.committed: dict[BatchId, LedgerBatch] = {}
        self.lost: list[Lost] = []

    def opened(self, host: SimulatedHost) -> None:
        key = key_of(host)
        old = self.shadows.get(key, Shadow())
        new = self.shadows[key] = read_back(host, self._static)
        kept = {batch_id(entry) for entry in new.entries}
        above = [entry for entry in old.entries if entry.base >= host.log.log_start]
        self._lose(key, [entry for entry in above if batch_id(entry) not in kept])

    def stepped(self, host: SimulatedHost, effects: Effects) -> None:
        key = key_of(host)
        shadow = self.shadows[key]
        if effects.truncate_to is not None:
            cut = [entry for entry in shadow.entries if entry.last >= effects.truncate_to]
            self._lose(key, cut)
        shadow.follow(host, effects)
        self._note_leader(host, effects)
        self._note_votes(host, effects)
        for batch in host.committed:
            entry = shadow.at(batch.base_offset)
            assert entry is not None, "a machine is given what its own log holds"
            self.committed.setdefault(batch_id(entry), entry)

    def _note_leader(self, host: SimulatedHost, effects: Effects) -> None:
        for batch in effects.append:
            for record in batch.control:
                if isinstance(record, LeaderChange) and isinstance(host.raft.role, Leader):
                    granting = frozenset(voter.node_id for voter in record.granting_voters)
                    begun = batch.epoch, key_of(host), batch.base_offset, batch.timestamp, granting
                    self.begun.append(Begun(*begun))
                    self.votes.add((batch.epoch, key_of(host).node_id, key_of(host).node_id))

    def _note_votes(self, host: SimulatedHost, effects: Effects) -> None:
        role, voter = host.raft.role, key_of(host).node_id
        for reply in effects.replies:
            message = reply.message
            if isinstance(message, VoteResponse) and message.granted and role.voted is not None:
                self.votes.add((role.epoch, voter, role.voted.node_id))
        state = effects.quorum_state
        if state is not None and state.voted is not None and state.voted.node_id == voter:
            self.votes.add((state.epoch, voter, voter))

    def _lose(self, key: ReplicaKey, entries: list[LedgerBatch]) -> None:
        self.lost += [Lost(key, batch_id(entry)) for entry in entries]


def batch_id(entry: LedgerBatch) -> BatchId:
    return BatchId(*entry[:4])
