"""What each node's witness knows at each moment of a trace, and the exchanges to judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from replica.history.fetch import Diverging
from replica.history.truncation import (
    TruncationBelowHighWatermarkError,
    checked_truncation_offset,
)
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, EpochStart, OffsetAndEpoch
from replica.model.epochs import UNDEFINED_EPOCH as NO_EPOCH
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.model.stored import LogFacts, SnapshotFacts
from replica.model.voters import Endpoints, Voter, VoterSet, voter_set
from replica.raft.config import FOREVER
from replica.raft.log_state import HistoryEntry, LogState, opened
from replica.raft.messages import (
    BeginQuorumEpochRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotResponse,
    UpdateVoterRequest,
    VoteRequest,
    VoteResponse,
)
from replica.raft.roles import Leader
from tests.interop.conformance.exchanges import NEVER, Exchange, Replica, Trace
from tests.interop.conformance.witness import State, Term, Witness
from tests.interop.conformance.world import World, world_of

_UNFETCHED_US = 1_000_000
"""The most microseconds until a leader's record is fetched: a follower fetches again within 500 ms,
and the machine may be slow."""


@dataclass(frozen=True, slots=True)
class Case:
    """An exchange to judge, and the states in which its node may have been. told: the highest high
    watermark that this leader had told at the time of `asked`. Without a reply it is a request that
    ended its node."""

    exchange: Exchange
    states: tuple[State, ...]
    told: int


class Watching:
    """Goes through a trace in the order of time."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.world: World = world_of(trace)
        self._endpoints: dict[int, Endpoints] = {
            node_id: (each.endpoint,) for node_id, each in trace.replicas.items()
        }
        self._nodes = {
            node_id: Witness(each.key, (each.endpoint,), log=_formatted(trace, each))
            for node_id, each in trace.replicas.items()
        }
        self._when_asked: dict[int, tuple[Witness, int]] = {}
        self._told: dict[tuple[int, int], int] = {}

    def cases(self) -> Iterator[Case]:
        """The answered exchanges, in the order of the answers, and the requests that
        ended a node."""
        for _, _, number, what in sorted(self._moments()):
            if number < 0:
                node = self._nodes[what]
                self._nodes[what] = node.restarted()
                continue
            exchange = self.trace.exchanges[number]
            match what:
                case 0:
                    self._sent(exchange)
                case 1:
                    self._asked(number, exchange)
                    if self._has_ended_its_node(exchange):
                        yield self._case(number, exchange)
                case 2:
                    yield self._case(number, exchange)
                    self._answered(exchange)
                case _:
                    self._told_to(number, exchange)

    def _moments(self) -> Iterator[tuple[int, int, int, int]]:
        for start in self.trace.starts:
            yield (start.at, 0, -1, start.node)
        for number, each in enumerate(self.trace.exchanges):
            moments = (each.sent, each.asked, each.answered, each.told)
            for what, at in enumerate(moments):
                if at != NEVER:
                    yield (at, what, number, what)

    def _has_ended_its_node(self, exchange: Exchange) -> bool:
        """Whether the exchange is a probe without an answer, and the node sends nothing more until
        its process starts again."""
        if exchange.client is not None or exchange.answered != NEVER:
            return False
        ends = [each.at for each in self.trace.starts if each.node == exchange.node]
        end = min((at for at in ends if at > exchange.asked), default=None)
        return end is not None and not any(
            each.node == exchange.node and exchange.asked < each.asked and each.answered < end
            for each in self.trace.exchanges
        )

    def _sent(self, exchange: Exchange) -> None:
        """Notes what a request shows about its sender."""
        if exchange.client is None or exchange.client not in self._nodes:
            return
        node = self._nodes[exchange.client]
        self._nodes[exchange.client] = self._by_request(node, exchange)

    def _by_request(self, node: Witness, exchange: Exchange) -> Witness:
        request, own = exchange.request, node.key.node_id
        match request:
            case FetchRequest():
                if request.epoch < node.epoch:
                    return node
                known = node.at(request.epoch)
                leads = self.world.leaders.get(request.epoch) == exchange.node
                heard = {(epoch, leader_id) for epoch, leader_id, _ in known.heard_of}
                if leads and (request.epoch, exchange.node) in heard:
                    known = known.led_by(request.epoch, exchange.node)
                    if known.has_fetched is None:
                        known = replace(known, has_fetched=True)
                position = OffsetAndEpoch(request.fetch_offset, request.last_fetched_epoch)
                return self._at_position(known, position)
            case VoteRequest() if request.epoch >= node.epoch:
                known = node.at(request.epoch)
                position = OffsetAndEpoch(request.end_offset, request.last_epoch)
                known = self._at_position(known, position)
                if request.pre_vote:
                    return known
                return replace(known, voted=node.key)
            case BeginQuorumEpochRequest() if request.epoch >= node.epoch:
                return self._leads(node, request.epoch)
            case EndQuorumEpochRequest() if request.epoch >= node.epoch:
                known = node.led_by(request.epoch, own)
                return replace(known, has_resigned=True, term=None)
            case UpdateVoterRequest() if request.epoch >= node.epoch:
                return node.at(request.epoch)
            case _:
                return node

    def _leads(self, node: Witness, epoch: int) -> Witness:
        """The witness of a node that has just shown that it leads the epoch."""
        own = node.key.node_id
        known = replace(node.led_by(epoch, own), voted=node.key)
        if known.term is not None or known.has_resigned:
            return known
        start = self.world.starts.get(epoch, known.log.log_end)
        role = Leader(epoch, node.key, node.endpoints, start, FOREVER, FOREVER)
        log = known.latest_log
        term = Term(role, role).counted(log.log_end, self._voters_of(epoch, log), start)
        return replace(known, log=log, pending=(), term=term, tail_epoch=epoch)

    def _voters_of(self, epoch: int, log: LogState) -> tuple[VoterSet, ...]:
        """The voter set that is in force by the known part of a leader's log, and the next set,
        which may be in force."""
        following = self.world.next_voters(epoch, log.log_end)
        return (log.voters,) if following is None else (log.voters, following[0])

    def _at_position(self, node: Witness, position: OffsetAndEpoch) -> Witness:
        """The witness of a node that has just shown that its log ends at this position."""
        logs = [node.log, node.latest_log]
        if node.tail_epoch is not None:
            logs.append(self.world.extended(node.log, position.offset, node.tail_epoch))
        node = replace(node, tail_epoch=None)
        for log in logs:
            if _position(log) == position:
                return replace(node, log=log, pending=())
        latest = node.latest_log
        if position.offset <= latest.log_end:
            cut = latest.truncated(position.offset)
            if _position(cut) == position:
                return replace(node, log=cut, pending=())
        return replace(node, log=self._log_at(position, node.log), pending=())

    def _log_at(self, position: OffsetAndEpoch, known: LogState) -> LogState:
        """A log that ends at the position: another node's log where that log reaches it, else a log
        of which only the epochs with a known start are known."""
        for other in self._nodes.values():
            latest = other.latest_log
            if latest.log_end >= position.offset:
                cut = latest.truncated(position.offset)
                if _position(cut) == position:
                    return replace(cut, snapshots=known.snapshots, log_start=known.log_start)
        epochs = tuple(
            EpochStart(epoch, start)
            for epoch, start in sorted(self.world.starts.items())
            if epoch <= position.epoch and start < position.offset
        )
        if (not epochs or epochs[-1].epoch != position.epoch) and position.offset:
            epochs = (*epochs, EpochStart(position.epoch, max(known.log_end, 0)))
        return replace(known, log_end=position.offset, flushed_end=position.offset, epochs=epochs)

    def _asked(self, number: int, exchange: Exchange) -> None:
        """Notes that the request has arrived at the node, which handles it from now on."""
        node = self._nodes[exchange.node]
        request, reply = exchange.request, exchange.reply
        if isinstance(request, BeginQuorumEpochRequest | EndQuorumEpochRequest | VoteRequest):
            is_vote = isinstance(request, VoteRequest)
            leader_id = NO_NODE if is_vote else request.leader_id
            node = node.hearing(request.epoch, leader_id, number)
            self._nodes[exchange.node] = node
        if isinstance(request, FetchRequest) and request.replica.node_id >= 0:
            is_valid = reply is None or _has_records(exchange)
            node = self._heard(node, request, answered=False) if is_valid else node
            self._nodes[exchange.node] = node
        self._when_asked[number] = (node, self._told.get((exchange.node, node.epoch), 0))

    def _heard(self, node: Witness, request: FetchRequest, *, answered: bool) -> Witness:
        """The node after a fetch of its epoch, which a leader counts."""
        if request.epoch > node.epoch and self.world.leaders.get(request.epoch) == node.key.node_id:
            node = self._leads(node, request.epoch)
        if node.term is None or request.epoch != node.epoch:
            return node
        log = self._reaching(node.log, request)
        term = node.term.heard(request.replica, request.fetch_offset, answered=answered)
        sets = self._voters_of(node.epoch, log)
        start = self.world.starts.get(node.epoch, term.arrived.epoch_start)
        return replace(node, log=log, term=term.counted(log.log_end, sets, start))

    def _reaching(self, log: LogState, request: FetchRequest) -> LogState:
        """The leader's log. A leader that accepts a fetch beyond the known part of its log has that
        log."""
        asking = self._nodes.get(request.replica.node_id)
        if asking is None or request.fetch_offset <= log.log_end:
            return log
        theirs = asking.latest_log.truncated(request.fetch_offset)
        if theirs.log_end != request.fetch_offset:
            return log
        return replace(theirs, snapshots=log.snapshots, log_start=log.log_start)

    def _case(self, number: int, exchange: Exchange) -> Case:
        before, told = self._when_asked.pop(number)
        now = self._nodes[exchange.node]
        states: list[State] = []
        for node in (before, now):
            for each in self._states_of(node.without(number), exchange):
                state = _between(each, before, now)
                if state not in states:
                    states.append(state)
        return Case(exchange, tuple(states), told)

    def _states_of(self, node: Witness, exchange: Exchange) -> Iterator[State]:
        """The states of the node in its own epoch, and in the newer epoch that the answer shows:
        the node may have known this epoch before it answered."""
        reply, own = exchange.reply, node.key.node_id
        shown = (NO_EPOCH, NO_NODE) if reply is None else (reply.epoch, reply.leader_id)
        for epoch in sorted({node.epoch, max(node.epoch, shown[0])}):
            if not node.may_be_in(epoch, self.world):
                continue
            known = node.at(epoch)
            shows_it = self.world.leaders.get(epoch) == own and shown == (epoch, own)
            has_shown = known.leader_id == own and known.term is None and not known.has_resigned
            if shows_it or has_shown:
                known = self._leads(known, epoch)
            known = self._with_answer(known, exchange)
            yield from known.states(self.world, self._endpoints, exchange.answered)
            if known.term is not None and not isinstance(exchange.request, FetchRequest):
                yield from self._with_next_voters(known, exchange.answered)

    def _with_next_voters(self, node: Witness, until: int) -> Iterator[State]:
        """The states where the leader may just have appended a voter set that no node has fetched
        yet."""
        following = self.world.next_voters(node.epoch, node.log.log_end)
        if following is not None and following[1] < until + _UNFETCHED_US:
            entry = HistoryEntry(node.log.log_end, following[0])
            log = replace(node.log, voter_sets=(*node.log.voter_sets, entry))
            yield from replace(node, log=log).states(self.world, self._endpoints, until)

    def _with_answer(self, node: Witness, exchange: Exchange) -> Witness:
        """The node with the records of its answer, which a leader has."""
        reply = exchange.reply
        if isinstance(reply, FetchResponse):
            log = node.log
            for batch in reply.batches:
                if batch.base_offset == log.log_end and batch.epoch >= log.last_epoch:
                    log = log.appended((batch,))
            if reply.snapshot_id is not None and log.snapshot(reply.snapshot_id) is None:
                log = log.with_snapshot(SnapshotFacts(reply.snapshot_id, 0))
            if reply.error is ErrorCode.NONE and reply.log_start > log.log_start:
                log = replace(log, log_start=reply.log_start)
            return replace(node, log=replace(log, flushed_end=log.log_end))
        if isinstance(reply, FetchSnapshotResponse) and reply.snapshot_id is not None:
            facts = SnapshotFacts(reply.snapshot_id, reply.size)
            return replace(node, log=node.log.with_snapshot(facts))
        return node

    def _answered(self, exchange: Exchange) -> None:
        """Notes what an answer shows about the node that gives it."""
        reply, request = exchange.reply, exchange.request
        assert reply is not None
        node = self._nodes[exchange.node]
        own = node.key.node_id
        if reply.epoch > node.epoch or (reply.epoch == node.epoch and reply.leader_id != NO_NODE):
            if (
                reply.leader_id == own
                and isinstance(
                    reply, FetchResponse | FetchSnapshotResponse | DescribeQuorumResponse
                )
                and reply.error is ErrorCode.NONE
            ):
                node = self._leads(node, reply.epoch)
            else:
                node = node.led_by(reply.epoch, reply.leader_id)
        if reply.epoch == node.epoch:
            node = self._with_answer(node, exchange)
        is_vote = isinstance(request, VoteRequest) and isinstance(reply, VoteResponse)
        if is_vote and reply.granted and not request.pre_vote and request.epoch == node.epoch:
            node = replace(node, voted=request.candidate)
        if isinstance(request, EndQuorumEpochRequest) and request.epoch == node.epoch:
            node = replace(node, heard_end=reply.error is ErrorCode.NONE)
        if isinstance(request, FetchRequest) and _has_records(exchange):
            node = self._heard(node, request, answered=True)
        if isinstance(reply, FetchResponse | DescribeQuorumResponse):
            at = (exchange.node, reply.epoch)
            self._told[at] = max(self._told.get(at, 0), reply.high_watermark or 0)
        self._nodes[exchange.node] = node

    def _told_to(self, number: int, exchange: Exchange) -> None:
        """Notes what a node has learned, once it has read the answer."""
        if exchange.client is None or exchange.client not in self._nodes:
            return
        node, reply = self._nodes[exchange.client], exchange.reply
        assert reply is not None
        node = node.hearing(reply.epoch, reply.leader_id, number)
        self._nodes[exchange.client] = node
        if not isinstance(reply, FetchResponse) or reply.error is not ErrorCode.NONE:
            return
        if reply.epoch == node.epoch:
            fetched = node.has_fetched or None
            node = replace(node, has_fetched=fetched)
        if reply.diverging is not None:
            decision = Diverging(reply.diverging.epoch, reply.diverging.offset)
            try:
                end = checked_truncation_offset(node.latest_log.view, decision, None)
            except TruncationBelowHighWatermarkError:
                end = node.latest_log.log_end
            node = replace(node, log=node.latest_log.truncated(end), pending=())
        node = replace(node, pending=(*node.pending, *reply.batches))
        known = min(reply.high_watermark or 0, node.latest_log.log_end)
        node = replace(node, committed=max(node.committed, known))
        self._nodes[exchange.client] = node


def _between(state: State, before: Witness, now: Witness) -> State:
    """A leader's state with the bounds of its high watermark, and of its followers' log ends, that
    hold during the whole exchange. The lowest bound is that at `asked`, the highest that at
    `answered`."""
    term, terms = state.term, (before.term, now.term)
    if term is None:
        return state
    first, last = (
        None if each is None or each.arrived.epoch != term.arrived.epoch else each for each in terms
    )
    lowest = None if first is None else first.lowest
    highest = term.highest if last is None else last.highest
    nobody = replace(term.answered, progress={})
    bounds = replace(
        term,
        lowest=lowest,
        highest=highest,
        answered=nobody if first is None else first.answered,
        arrived=term.arrived if last is None else last.arrived,
    )
    return replace(state, term=bounds)


def _formatted(trace: Trace, replica: Replica) -> LogState:
    """The log of a node that was just formatted."""
    if not replica.first_voters:
        return opened(LogFacts(), trace.static_voters)
    first = (trace.replicas[node_id] for node_id in replica.first_voters)
    voters = voter_set(Voter(each.key, (each.endpoint,)) for each in first)
    return opened(
        LogFacts(snapshots=(SnapshotFacts(BOOTSTRAP_SNAPSHOT, 0, -1, voters, 1),)), VoterSet()
    )


def _has_records(exchange: Exchange) -> bool:
    """Whether the leader accepted the fetch as valid."""
    reply = exchange.reply
    return (
        isinstance(reply, FetchResponse)
        and reply.error is ErrorCode.NONE
        and reply.diverging is None
        and reply.snapshot_id is None
    )


def _position(log: LogState) -> OffsetAndEpoch:
    return OffsetAndEpoch(log.log_end, log.last_epoch)
