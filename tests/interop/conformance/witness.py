"""What a trace has shown of one node up to a moment, and the states in which the node may be.

A node's own requests and answers show its epoch, its leader, its vote and the end of its log. The
answers that it got show what it may have learned since. Where the trace leaves a choice, there is a
state for each choice: a follower that may be in a pre-vote, records that may already be appended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from replica.history.watermark import leader_high_watermark
from replica.model.batch import Batch
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Endpoints, VoterSet
from replica.raft.config import FOREVER
from replica.raft.log_state import LogState
from replica.raft.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Unattached,
    VoteTally,
)
from replica.raft.transitions import Role
from tests.interop.conformance.world import World

EMPTY_LOG = LogState(0, 0, 0, (), (), VoterSet())
_TAIL = 1_000_000
"""The most records that a leader may have appended and no node has fetched yet."""


@dataclass(frozen=True, slots=True)
class Term:
    """What a leader must know.

    arrived, answered: its role with the fetches that have arrived, and with the fetches that were
        answered. Both have the progress of observers, too.
    highest, lowest: the bounds of its high watermark; None while it can have none. highest is
        FOREVER where no other node counts.
    """

    arrived: Leader
    answered: Leader
    highest: int | None = None
    lowest: int | None = None

    def heard(self, replica: ReplicaKey, offset: int, *, answered: bool) -> Term:
        def told(role: Leader) -> Leader:
            return role.fetched(replica, offset, offset, 1)

        role = told(self.answered) if answered else self.answered
        return replace(self, arrived=told(self.arrived), answered=role)

    def counted(self, log_end: int, sets: tuple[VoterSet, ...], start: int) -> Term:
        """The term with the high watermarks that each of these voter sets allows."""
        highs, lows = [], []
        for voters in sets:
            highs.append(_reached(self.arrived, voters, log_end, start, alone=FOREVER))
            lows.append(_reached(self.answered, voters, log_end, start, alone=None))
        known = [each for each in (self.highest, *highs) if each is not None]
        least = None if None in lows else min(each for each in lows if each is not None)
        low = [each for each in (self.lowest, least) if each is not None]
        return replace(self, highest=max(known, default=None), lowest=max(low, default=None))


def _reached(
    role: Leader, voters: VoterSet, log_end: int, start: int, alone: int | None
) -> int | None:
    """The high watermark by the fetches. alone: the log end that counts where the leader is the
    only voter, whose log end no message shows."""
    if len(voters) == 1 and voters.is_voter(role.local):
        return alone
    ends = {}
    for key, progress in role.progress.items():
        voter = voters.voter_of(key)
        if voter is not None:
            ends[voter.key] = progress.log_end
    local = voters.voter_of(role.local)
    if local is not None:
        ends[local.key] = max(log_end, *ends.values()) if ends else log_end
    return leader_high_watermark(voters.keys, ends, start, None)


@dataclass(frozen=True, slots=True)
class State:
    """One possible state of a node. committed: the end (exclusive) of what it knows to be
    committed. term: a leader's term."""

    role: Role
    log: LogState
    committed: int
    term: Term | None = None


@dataclass(frozen=True, slots=True)
class Witness:
    """What is known about a node.

    epoch: the newest epoch that the node has shown, with the leader that it then knew (NO_NODE for
        none) and its vote.
    log: as its own requests show it.
    pending: batches that it got since.
    has_fetched: whether its leader has answered it well; None where it got the answer and hasn't
        shown yet that it has it.
    heard_end: whether its leader has told it of its end.
    has_resigned: whether it led this epoch and no longer leads.
    committed: what it must know to be committed.
    heard_of: what others have told it and it may believe: epoch, leader id (NO_NODE for none), and
        the number of the exchange.
    tail_epoch: the epoch that it led, where it may have written records since that no node fetched;
        None otherwise.
    term: its term while it leads.
    """

    key: ReplicaKey
    endpoints: Endpoints
    epoch: int = 0
    leader_id: int = NO_NODE
    voted: ReplicaKey | None = None
    log: LogState = field(default=EMPTY_LOG)
    pending: tuple[Batch, ...] = ()
    has_fetched: bool | None = False
    heard_end: bool = False
    has_resigned: bool = False
    committed: int = 0
    heard_of: frozenset[tuple[int, int, int]] = frozenset()
    tail_epoch: int | None = None
    term: Term | None = None

    def at(self, epoch: int) -> Witness:
        """The witness in an epoch that isn't older."""
        if epoch <= self.epoch:
            return self
        return Witness(
            self.key,
            self.endpoints,
            epoch,
            log=self.log,
            pending=self.pending,
            committed=self.committed,
            heard_of=self.heard_of,
            tail_epoch=self.tail_epoch,
        )

    def hearing(self, epoch: int, leader_id: int, number: int) -> Witness:
        """The witness after a message that names an epoch, and perhaps its leader."""
        if epoch < self.epoch:
            return self
        kept = {each for each in self.heard_of if each[0] >= self.epoch}
        return replace(self, heard_of=frozenset({*kept, (epoch, leader_id, number)}))

    def without(self, number: int) -> Witness:
        """The witness as if it had not heard of this exchange."""
        others = frozenset(each for each in self.heard_of if each[2] != number)
        return replace(self, heard_of=others)

    def may_be_in(self, epoch: int, world: World) -> bool:
        """Whether the node may have come to a newer epoch: by what it has heard, by an election of
        its own, or from an epoch that it led."""
        own = self.key.node_id
        led = self.leader_id == own or world.leaders.get(self.epoch) == own
        return (
            epoch == self.epoch
            or any(heard == epoch for heard, _, _ in self.heard_of)
            or (own, epoch) in world.stood
            or world.leaders.get(epoch) == own
            or (led and epoch == self.epoch + 1)
        )

    def led_by(self, epoch: int, leader_id: int) -> Witness:
        """The witness after the node has shown that it knows this leader of the epoch. leader_id:
        NO_NODE where the node knows no leader."""
        known = self.at(epoch)
        if epoch < self.epoch or leader_id == NO_NODE:
            return known
        return replace(known, leader_id=leader_id)

    def restarted(self) -> Witness:
        """The witness after its process has started again on the same disk."""
        led = self.leader_id == self.key.node_id
        return replace(
            self, has_fetched=False, heard_end=False, has_resigned=led, term=None, pending=()
        )

    @property
    def latest_log(self) -> LogState:
        """The log with all batches that the node got."""
        log = self.log
        for batch in self.pending:
            if batch.base_offset == log.log_end and batch.epoch >= log.last_epoch:
                log = log.appended((batch,))
        return replace(log, flushed_end=log.log_end)

    def states(self, world: World, endpoints: dict[int, Endpoints], until: int) -> Iterator[State]:
        """All states in this epoch that agree with what is known. until: the node has been in one
        of these states by then."""
        yield from self._states(world, endpoints, until)
        # of two votes requested at once, the vote that is answered later may come first
        given = None if self.voted else world.vote(self.key.node_id, self.epoch, until)
        if given is not None:
            yield from replace(self, voted=given)._states(world, endpoints, until)

    def _states(self, world: World, endpoints: dict[int, Endpoints], until: int) -> Iterator[State]:
        logs = [self.log]
        if self.pending:
            logs.append(self.latest_log)
        for log in logs:
            for role in self._roles(world, endpoints, log, until):
                term = self.term if isinstance(role, Leader) else None
                yield State(role, log, self.committed, term)
                if self.tail_epoch is not None and term is None:
                    yield State(role, _with_tail(log, self.tail_epoch), self.committed)

    def _roles(
        self, world: World, endpoints: dict[int, Endpoints], log: LogState, until: int
    ) -> Iterator[Role]:
        epoch, own = self.epoch, self.key.node_id
        tally = VoteTally(log.voters)
        real = world.leaders.get(epoch, NO_NODE)
        if own in (self.leader_id, real):
            if not self.has_resigned and self.term is not None:
                yield self.term.arrived
            if self.has_resigned or world.led_until.get(epoch, 0) < until:
                yield Resigned(epoch, own, self.endpoints, FOREVER, frozenset())
        if self.leader_id == own:
            return
        may_stand = real == own or (own, epoch) in world.stood
        if may_stand and self.leader_id == NO_NODE:
            yield Candidate(epoch, tally, FOREVER, self.key)
        known = [self.leader_id]
        if self.leader_id == NO_NODE:
            heard = {each for of, each, _ in self.heard_of if of == epoch}
            known += sorted(heard - {own, NO_NODE})
        for leader_id in known:
            where = endpoints.get(leader_id, ())
            if not where:
                yield Unattached(epoch, FOREVER, leader_id, self.voted)
            yield Prospective(epoch, tally, FOREVER, leader_id, where, self.voted)
            if leader_id != NO_NODE:
                yield from self._following(leader_id, where)

    def _following(self, leader_id: int, where: Endpoints) -> Iterator[Role]:
        fetched = (False, True) if self.has_fetched is None else (self.has_fetched,)
        for has_fetched in fetched:
            yield Follower(
                self.epoch,
                leader_id,
                where,
                FOREVER,
                FOREVER,
                self.voted,
                has_fetched=has_fetched,
                has_resigned=self.heard_end,
            )


def _with_tail(log: LogState, epoch: int) -> LogState:
    epoch = max(epoch, log.last_epoch)
    tail = Batch(log.log_end, log.log_end + _TAIL - 1, epoch, data=b"?")
    return replace(log.appended((tail,)), flushed_end=log.log_end + _TAIL)
