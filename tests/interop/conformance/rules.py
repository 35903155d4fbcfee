"""The invariants that a trace of messages can break, and the check of each.

They are invariants of replica.simulate, with the same names and the same error. The simulator
checks them on the states of its replicas, after each step. Here only messages are seen, of Kafka or
of kraftlake's core, so each check finds only what no order of events can explain. `replay`,
`snapshots`, `state machine`, `check quorum`, `linearizable`, `liveness` and `core` need facts that
no message shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from replica.model.batch import Batch
from replica.model.control import KRaftVoters, LeaderChange
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import VoterSet
from replica.raft.messages import (
    BeginQuorumEpochRequest,
    DescribeQuorumResponse,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from replica.simulate.broken import demand
from tests.interop.conformance.exchanges import Exchange, Trace
from tests.interop.conformance.watching import Watching


def check(trace: Trace) -> Mapping[str, int]:
    """By name of each invariant, how often it had something to judge. Raises
    BrokenInvariantError."""
    judged: Counter[str] = Counter()
    for rule in (_Leaders, _Epochs, _Votes, _Logs):
        rule(trace, judged).check()
    _check_watermarks(trace, judged)
    return judged


class _Rule:
    def __init__(self, trace: Trace, judged: Counter[str]) -> None:
        self.trace = trace
        self.judged = judged

    def check(self) -> None:
        for exchange in self.trace.exchanges:
            self.see(exchange)

    def see(self, exchange: Exchange) -> None:
        raise NotImplementedError


class _Leaders(_Rule):
    """An epoch has at most one leader: in announcements, in answers, and in the log."""

    def __init__(self, trace: Trace, judged: Counter[str]) -> None:
        super().__init__(trace, judged)
        self._leaders: dict[int, int] = {}

    def see(self, exchange: Exchange) -> None:
        request, reply = exchange.request, exchange.reply
        if exchange.client is not None and isinstance(request, BeginQuorumEpochRequest):
            self._name(request.epoch, request.leader_id)
        if reply is not None and reply.leader_id != NO_NODE:
            self._name(reply.epoch, reply.leader_id)
        if isinstance(reply, FetchResponse):
            for batch in reply.batches:
                for record in batch.control:
                    if isinstance(record, LeaderChange):
                        self._name(batch.epoch, record.leader_id)

    def _name(self, epoch: int, leader_id: int) -> None:
        known = self._leaders.setdefault(epoch, leader_id)
        self.judged["one leader"] += 1
        demand(known == leader_id, "one leader", f"nodes {known} and {leader_id} in {epoch}")


class _Epochs(_Rule):
    """A node's epoch never falls: no answer names an epoch older than what the node had said before
    it was asked. Requests of one connection are sent in their order."""

    def check(self) -> None:
        said = sorted(_epochs_said(self.trace))
        newest: dict[int, int] = {}
        at = 0
        for exchange in sorted(self.trace.exchanges, key=lambda each: each.asked):
            reply = exchange.reply
            if reply is None or reply.epoch < 0:
                continue
            while at < len(said) and said[at][0] < exchange.asked:
                _, node_id, epoch = said[at]
                newest[node_id] = max(newest.get(node_id, 0), epoch)
                at += 1
            known = newest.get(exchange.node, 0)
            self.judged["epochs"] += 1
            fell = f"node {exchange.node} went from {known} back to {reply.epoch}"
            demand(reply.epoch >= known, "epochs", fell)


def _epochs_said(trace: Trace) -> list[tuple[int, int, int]]:
    """(when, node id, epoch) of all that nodes have said of themselves."""
    found = []
    for each in trace.exchanges:
        request = each.request
        if each.client is not None and isinstance(
            request, VoteRequest | FetchRequest | BeginQuorumEpochRequest
        ):
            found.append((each.sent, each.client, request.epoch))
        if each.reply is not None and each.reply.epoch >= 0:
            found.append((each.answered, each.node, each.reply.epoch))
    return found


class _Votes(_Rule):
    """A node votes once in an epoch, its vote for itself included. It votes for no log older than
    its own log, whose end its fetches show. A divergence that it was told may have truncated its
    log since."""

    def __init__(self, trace: Trace, judged: Counter[str]) -> None:
        super().__init__(trace, judged)
        self._votes: dict[tuple[int, int], int] = {}

    def see(self, exchange: Exchange) -> None:
        request, reply = exchange.request, exchange.reply
        if not isinstance(request, VoteRequest) or request.pre_vote:
            return
        if exchange.client == request.candidate.node_id:
            self._vote(exchange.client, request.epoch, request.candidate)
        if isinstance(reply, VoteResponse) and reply.granted:
            self._vote(exchange.node, request.epoch, request.candidate)
            held = self._held(exchange.node, exchange.asked)
            theirs = election_order(OffsetAndEpoch(request.end_offset, request.last_epoch))
            older = f"node {exchange.node} voted in {request.epoch} for an older log"
            demand(held is None or theirs >= election_order(held), "votes", older)

    def _vote(self, node_id: int, epoch: int, candidate: ReplicaKey) -> None:
        known = self._votes.setdefault((node_id, epoch), candidate.node_id)
        self.judged["votes"] += 1
        twice = f"node {node_id} voted for {known} and {candidate.node_id} in {epoch}"
        demand(known == candidate.node_id, "votes", twice)

    def _held(self, node_id: int, at: int) -> OffsetAndEpoch | None:
        """The least end of a node's log before this time; None where it is unknown."""
        held = None
        for each in self.trace.exchanges:
            if each.client != node_id or each.sent >= at:
                continue
            if isinstance(each.request, FetchRequest):
                offset, epoch = each.request.fetch_offset, each.request.last_fetched_epoch
                held = (each.sent, OffsetAndEpoch(offset, epoch))
        if held is None:
            return None
        for each in self.trace.exchanges:
            is_cut = isinstance(each.reply, FetchResponse) and (
                each.reply.diverging is not None or each.reply.snapshot_id is not None
            )
            if each.client == node_id and is_cut and held[0] <= each.answered:
                return None
        return held[1]


class _Logs(_Rule):
    """Logs with the same epoch at an offset are equal there. What a high watermark has passed
    stays, and a new leader has it. New voters differ from the former voters by one."""

    def check(self) -> None:
        batches: dict[tuple[int, int], tuple[int, bytes]] = {}
        first: dict[tuple[int, int], Batch] = {}
        for exchange in self.trace.exchanges:
            reply = exchange.reply
            if isinstance(reply, FetchResponse):
                for batch in reply.batches:
                    self._match(batches, batch)
                    first.setdefault((batch.base_offset, batch.epoch), batch)
        ends = self._watermarks()
        self._check_committed(first, ends)
        self._check_voters(first, ends)

    def _match(self, known: dict[tuple[int, int], tuple[int, bytes]], batch: Batch) -> None:
        content = (batch.last_offset, batch.data[17:21])
        place = (batch.base_offset, batch.epoch)
        if place in known:
            self.judged["log matching"] += 1
            two = f"offset {batch.base_offset} of epoch {batch.epoch} has two histories"
            demand(known[place] == content, "log matching", two)
        known[place] = content

    def _watermarks(self) -> dict[int, int]:
        """By epoch, the highest high watermark that its leader has named."""
        ends: dict[int, int] = {}
        for exchange in self.trace.exchanges:
            reply = exchange.reply
            if isinstance(reply, FetchResponse | DescribeQuorumResponse) and reply.epoch >= 0:
                told = reply.high_watermark or 0
                ends[reply.epoch] = max(ends.get(reply.epoch, 0), told)
        return ends

    def _check_committed(self, first: dict[tuple[int, int], Batch], ends: dict[int, int]) -> None:
        """Check that a leader's epoch begins at or above everything that older epochs committed, so
        that its LeaderChange record replaces nothing committed, and that no other batch lies at
        that offset."""
        for (offset, epoch), batch in first.items():
            older = max((end for of, end in ends.items() if of < epoch), default=0)
            self.judged["committed"] += 1
            lost = f"epoch {epoch} writes offset {offset}, and {older} was committed before"
            demand(offset >= older, "committed", lost)
            assert batch.epoch == epoch

    def _check_voters(self, first: dict[tuple[int, int], Batch], ends: dict[int, int]) -> None:
        sets = [
            (batch.base_offset, epoch, record.voters)
            for (_, epoch), batch in sorted(first.items())
            for record in batch.control
            if isinstance(record, KRaftVoters)
        ]
        final = max(ends.values(), default=0)
        committed: list[tuple[int, int, VoterSet]] = []
        for offset, epoch, voters in sets:
            while committed and committed[-1][0] >= offset:
                committed.pop()
            if committed and committed[-1][2].keys != voters.keys:
                older = committed[-1]
                self.judged["voter sets"] += 1
                close = older[2].has_overlapping_majority(voters)
                demand(close, "voter sets", f"{older[2].ids} is followed by {voters.ids}")
            if offset < final:
                committed.append((offset, epoch, voters))


def _check_watermarks(trace: Trace, judged: Counter[str]) -> None:
    """Check that a leader's high watermark never falls in its epoch, and that a majority of its
    voters, by some voter set that is in force then, has fetched up to it."""
    for case in Watching(trace).cases():
        reply = case.exchange.reply
        if not isinstance(reply, FetchResponse | DescribeQuorumResponse):
            continue
        told = reply.high_watermark
        if told is None or told < 0:
            continue
        judged["high watermark"] += 1
        falls = f"node {case.exchange.node} went from {case.told} back to {told} in {reply.epoch}"
        demand(told >= case.told, "high watermark", falls)
        allowed = [
            state.term.highest
            for state in case.states
            if state.term is not None and state.role.epoch == reply.epoch
        ]
        early = f"node {case.exchange.node} tells {told}, fetched are {allowed}"
        reached = any(most is not None and told <= most for most in allowed)
        demand(reached, "high watermark", early)
