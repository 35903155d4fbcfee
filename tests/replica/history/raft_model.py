"""A small random Raft: elections, replication, truncation, snapshots, single voter changes.

It follows the rules of KIP-595 and KIP-853 and nothing else, so its logs satisfy log matching,
while `random` decides every delivery, vote and crash. One Entry stands for one batch. The model
keeps every log whole and hides deleted heads only in its captures.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from replica.history.log import LogBatch, ReplicaLog
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import VotersAt

Voters = frozenset[ReplicaKey]


@dataclass(frozen=True)
class Entry:
    batch: LogBatch
    voters: Voters | None = None
    leader_change: Voters | None = None
    leader: int | None = None
    """The node that wrote the entry."""


@dataclass
class Node:
    key: ReplicaKey
    log: list[Entry] = field(default_factory=list)
    epoch: int = 0
    voted: ReplicaKey | None = None
    leading: bool = False
    epoch_start: int = 0
    committed: int = 0
    """The number of entries that this node knows to be committed."""
    acknowledged: dict[ReplicaKey, int] = field(default_factory=dict)
    snapshots: list[OffsetAndEpoch] = field(default_factory=list)
    trimmed: int = 0
    """The number of entries at the head that are deleted below a snapshot."""

    @property
    def end_offset(self) -> int:
        return self.log[-1].batch.last_offset + 1 if self.log else 0

    @property
    def position(self) -> tuple[int, int]:
        return (self.log[-1].batch.epoch if self.log else 0, self.end_offset)


@dataclass(frozen=True)
class Elected:
    epoch: int
    log: tuple[Entry, ...]


class RaftModel:
    """The model. `dynamic`: voters change by records in the log; otherwise LeaderChange alone names
    them."""

    def __init__(self, seed: int, voters: int, observers: int, dynamic: bool) -> None:
        self.random = random.Random(seed)
        self.dynamic = dynamic
        directory = (lambda n: f"directory-{n}") if dynamic else (lambda n: f"any-{n}")
        keys = [ReplicaKey(n, directory(n)) for n in range(voters + observers)]
        self.nodes = {key: Node(key) for key in keys}
        self.genesis: Voters = frozenset(keys[:voters])
        self.elected: list[Elected] = []
        self._digest = 0

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        leaders = [node for node in self.nodes.values() if node.leading]
        if not leaders or self.random.random() < 0.07:
            self.elect(self._any())
            return
        leader = self.random.choice(leaders)
        choice = self.random.random()
        if choice < 0.25:
            self.append(leader)
        elif choice < 0.70:
            self.replicate(leader, self._any())
        elif choice < 0.80:
            self.advance(leader)
        elif choice < 0.88 and self.dynamic:
            self.change_voters(leader)
        elif choice < 0.92:
            self._learn(self._any(), self._any().epoch)
        elif choice < 0.95:
            self._any().leading = False
        else:
            self.snapshot(self._any())

    def voters_of(self, log: list[Entry]) -> Voters:
        return next((e.voters for e in reversed(log) if e.voters is not None), self.genesis)

    def elect(self, candidate: Node) -> bool:
        voters = self.voters_of(candidate.log)
        if candidate.key not in voters:
            return False
        self._learn(candidate, candidate.epoch + 1)
        candidate.voted = candidate.key
        granted = 1
        for key in sorted(voters - {candidate.key}):
            if self.random.random() < 0.65:
                granted += self._vote(self.nodes[key], candidate)
        if granted <= len(voters) // 2:
            return False
        candidate.leading = True
        candidate.acknowledged = {}
        candidate.epoch_start = len(candidate.log)
        self.elected.append(Elected(candidate.epoch, tuple(candidate.log)))
        self.append(candidate, leader_change=voters)
        return True

    def _vote(self, voter: Node, candidate: Node) -> bool:
        if voter.epoch > candidate.epoch:
            return False
        self._learn(voter, candidate.epoch)
        if voter.voted not in (None, candidate.key) or voter.position > candidate.position:
            return False
        voter.voted = candidate.key
        return True

    def append(
        self, leader: Node, voters: Voters | None = None, leader_change: Voters | None = None
    ) -> None:
        self._digest += 1
        control = voters is not None or leader_change is not None
        size = 1 if control else self.random.randint(1, 3)
        base = leader.end_offset
        batch = LogBatch(base, base + size - 1, leader.epoch, self._digest)
        leader.log.append(Entry(batch, voters, leader_change, leader.key.node_id))

    def replicate(self, leader: Node, follower: Node, count: int | None = None) -> None:
        if follower is leader or follower.epoch > leader.epoch:
            return
        self._learn(follower, leader.epoch)
        common = 0
        for mine, theirs in zip(follower.log, leader.log, strict=False):
            if mine != theirs:
                break
            common += 1
        if common < len(follower.log):
            assert common >= follower.committed, "the model lost a committed entry"
            del follower.log[common:]
        missing = len(leader.log) - common
        taken = missing if count is None else min(count, missing)
        if count is None and self.random.random() < 0.5:
            taken = self.random.randint(0, missing)
        follower.log.extend(leader.log[common : common + taken])
        follower.committed = max(follower.committed, min(leader.committed, len(follower.log)))
        if count is not None or self.random.random() < 0.8:
            leader.acknowledged[follower.key] = len(follower.log)

    def advance(self, leader: Node) -> None:
        voters = self.voters_of(leader.log)
        ends = {**leader.acknowledged, leader.key: len(leader.log)}
        reached = sorted((ends.get(key, 0) for key in voters), reverse=True)[len(voters) // 2]
        if reached > leader.epoch_start:
            leader.committed = max(leader.committed, reached)

    def change_voters(self, leader: Node) -> None:
        newest = max((i for i, e in enumerate(leader.log) if e.voters is not None), default=-1)
        if leader.committed <= max(newest, leader.epoch_start):
            return
        voters = self.voters_of(leader.log)
        changed = self._any().key
        if voters != {changed}:
            self.append(leader, voters=voters ^ {changed})

    def snapshot(self, node: Node) -> None:
        if node.committed <= node.trimmed:
            return
        count = self.random.randint(node.trimmed + 1, node.committed)
        last = node.log[count - 1].batch
        node.snapshots.append(OffsetAndEpoch(last.last_offset + 1, last.epoch))
        if self.random.random() < 0.5:
            node.trimmed = count

    def capture(self, node: Node) -> ReplicaLog:
        """What a copy of the node's directory shows at this moment."""
        shown = node.log[node.trimmed :]
        start = node.log[node.trimmed - 1].batch.last_offset + 1 if node.trimmed else 0
        leader_changes = [
            VotersAt(e.batch.base_offset, e.batch.epoch, frozenset(map(_any_disk, change)))
            for e in shown
            if (change := e.leader_change) is not None
        ]
        led = {
            e.batch.epoch
            for e in shown
            if e.leader_change is not None and e.leader == node.key.node_id
        }
        return ReplicaLog(
            node.key,
            start,
            tuple(e.batch for e in shown),
            tuple(node.snapshots),
            node.epoch,
            self._voter_sets(node) if self.dynamic else (),
            tuple(leader_changes),
            frozenset(led),
            quorum_vote=NO_NODE if node.voted is None else node.voted.node_id,
        )

    def _voter_sets(self, node: Node) -> tuple[VotersAt, ...]:
        records = [VotersAt(-1, 0, self.genesis)]
        records += [
            VotersAt(e.batch.base_offset, e.batch.epoch, e.voters)
            for e in node.log
            if e.voters is not None
        ]
        if not node.trimmed:
            return tuple(records)
        last = node.log[node.trimmed - 1].batch
        in_snapshot = [record for record in records if record.offset <= last.last_offset][-1]
        held = VotersAt(last.last_offset, last.epoch, in_snapshot.voters)
        return (held, *(r for r in records if r.offset > last.last_offset))

    def _learn(self, node: Node, epoch: int) -> None:
        if epoch > node.epoch:
            node.epoch, node.voted, node.leading = epoch, None, False

    def _any(self) -> Node:
        return self.random.choice(list(self.nodes.values()))


def _any_disk(key: ReplicaKey) -> ReplicaKey:
    return ReplicaKey(key.node_id)
