"""Real Kafka's answers compared with our core. For each exchange, the core is put into the states
in which Kafka's node may have been, gets the request, and its answers are compared with Kafka's
answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.model.voters import Voter
from replica.node.translate.partition import is_top_level
from replica.raft.config import Config
from replica.raft.core import Core
from replica.raft.dispatch import handle_request
from replica.raft.effects import LogRead, Reply, SnapshotRead
from replica.raft.inputs import Request
from replica.raft.messages import (
    AddVoterRequest,
    DescribeQuorumResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotResponse,
    PeerRequest,
    PeerResponse,
    RemoveVoterRequest,
    UpdateFeaturesRequest,
    UpdateVoterRequest,
    VoteResponse,
)
from replica.raft.roles import Leader
from tests.interop.conformance.exchanges import NEVER, Exchange, Trace
from tests.interop.conformance.reasons import reason_of
from tests.interop.conformance.watching import Case, Watching
from tests.interop.conformance.witness import State


class Outcome(Enum):
    """The result of judging one of Kafka's answers."""

    SAME = "same"
    """In every state in which the node may have been, the core gives the same answer."""
    POSSIBLE = "same in one of the possible states"
    ALLOWED = "allowed"
    """The core gives another answer, for a reason in reasons.py."""
    ENDED = "Kafka's process ended"
    """Kafka's node gave no answer, because the request ended its process."""
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict. kafka, ours: the answers in words. reason: of an allowed difference."""

    exchange: Exchange
    outcome: Outcome
    kafka: str
    ours: tuple[str, ...]
    reason: str = ""


def judged(trace: Trace) -> Iterator[Verdict]:
    """A verdict on every answer in the trace, and on every request that ended a node."""
    for case in Watching(trace).cases():
        yield _verdict(trace, case)


def _verdict(trace: Trace, case: Case) -> Verdict:
    exchange = case.exchange
    if exchange.reply is None:
        nothing: Facts = (("error", "its process ended"),)
        ours = dict.fromkeys(_ours(trace, case, state, nothing) for state in case.states)
        return Verdict(exchange, Outcome.ENDED, _text(nothing), tuple(map(_text, ours)))
    kafka = _facts(exchange.request, exchange.reply)
    states = [each for state in case.states for each in _with_learned(trace, exchange, state)]
    ours = dict.fromkeys(_ours(trace, case, state, kafka) for state in states)
    texts = tuple(map(_text, ours))
    if kafka in ours:
        outcome = Outcome.SAME if len(ours) == 1 else Outcome.POSSIBLE
        return Verdict(exchange, outcome, _text(kafka), texts)
    reason = reason_of(trace, exchange, dict(kafka), [dict(each) for each in ours])
    outcome = Outcome.ALLOWED if reason else Outcome.DIFFERS
    return Verdict(exchange, outcome, _text(kafka), texts, reason)


def _with_learned(trace: Trace, exchange: Exchange, state: State) -> Iterator[State]:
    """The states in which a request is judged. A request about kraft.version also depends on the
    voters that have told the leader their directory and versions. These are the voters whose
    message was answered before the request, and perhaps also voters that had sent a message before
    the request was answered."""
    role = state.role
    if not isinstance(exchange.request, UpdateFeaturesRequest) or not isinstance(role, Leader):
        yield state
        return
    told = [
        (each.answered, each.request.voter)
        for each in trace.exchanges
        if isinstance(each.request, UpdateVoterRequest)
        and (each.node, each.request.epoch) == (exchange.node, role.epoch)
        and each.asked < exchange.answered
        and (each.reply is None or each.reply.error is ErrorCode.NONE)
    ]
    replica = trace.replicas[exchange.node]
    own = Voter(replica.key, (replica.endpoint,), max_kraft_version=1)
    for until in (exchange.asked, NEVER):
        heard = [own, *(voter for answered, voter in told if answered <= until)]
        learned = {voter.key.node_id: voter for voter in heard}
        yield replace(state, role=replace(role, learned=learned))


def accused(trace: Trace) -> list[Exchange]:
    """Requests of Kafka's nodes that the core counts as illegal in every possible state of the node
    that got them."""
    found = []
    for case in Watching(trace).cases():
        exchange = case.exchange
        replica = trace.replicas[exchange.node]
        local = Voter(replica.key, (replica.endpoint,))
        judgements = [_answer_in(trace, local, state, exchange.request)[1] for state in case.states]
        if exchange.client is not None and judgements and all(judgements):
            found.append(exchange)
    return found


def watermarks(trace: Trace) -> tuple[int, int]:
    """The number of high watermarks in leaders' answers, and the number of them that equal exactly
    what the arrived fetches allow."""
    told = exact = 0
    for case in Watching(trace).cases():
        reply = case.exchange.reply
        if isinstance(reply, FetchResponse) and (reply.high_watermark or -1) >= 0:
            told += 1
            exact += any(
                state.term is not None and state.term.highest == reply.high_watermark
                for state in case.states
            )
    return told, exact


_OF_ADMINISTRATORS = (AddVoterRequest, RemoveVoterRequest, UpdateFeaturesRequest)
"""Requests whose answers have only an error."""
Facts = tuple[tuple[str, object], ...]
"""The compared facts of an answer, by name."""


def _answer_in(
    trace: Trace, local: Voter, state: State, request: PeerRequest
) -> tuple[Reply | None, bool]:
    """The core's answer in a state; None where it accepts the request and answers later. And
    whether it counts the request as illegal."""
    config = Config(trace.cluster_id, local, trace.static_voters)
    core = Core(config, state.role, state.log, lambda bound: 0, now_ms=1)
    core.committed = state.committed
    if isinstance(state.role, Leader):
        for key, progress in state.role.progress.items():
            if not state.log.voters.is_voter(key):
                core.work.observers.put(key, progress)
    if isinstance(request, FetchRequest):
        request = replace(request, max_wait_ms=min(request.max_wait_ms, 0))
    handle_request(core, Request("asked", request))
    replies = [each for each in core.outbox.effects.replies if each.request_id == "asked"]
    return (replies[0] if replies else None), bool(core.offences.counts)


def _ours(trace: Trace, case: Case, state: State, kafka: Facts) -> Facts:
    exchange = case.exchange
    replica = trace.replicas[exchange.node]
    local = Voter(replica.key, (replica.endpoint,))
    role, term = state.role, state.term
    if isinstance(role, Leader) and term is not None:
        role = replace(role, high_watermark=_watermark(case, state))
        state = replace(state, role=role)
    reply, _ = _answer_in(trace, local, state, exchange.request)
    if reply is None:
        return _accepted(kafka)
    message = _filled(exchange, reply)
    if isinstance(message, FetchResponse) and term is not None:
        # the core has counted this fetch and all earlier ones; Kafka may not have
        message = replace(message, high_watermark=_watermark(case, state))
    found = _facts(exchange.request, message)
    if isinstance(message, DescribeQuorumResponse) and term is not None:
        found = (*found[:-1], ("log ends", _log_ends(exchange, state)))
    return found


def _watermark(case: Case, state: State) -> int | None:
    """Kafka's high watermark, where the trace allows it; else the high watermark by the arrived
    fetches."""
    term, reply = state.term, case.exchange.reply
    assert term is not None
    told = (
        reply.high_watermark if isinstance(reply, FetchResponse | DescribeQuorumResponse) else None
    )
    told = None if told is not None and told < 0 else told
    lowest, highest = term.lowest, term.highest
    if told is None:
        is_allowed = lowest is None and not case.told
        return None if is_allowed else highest
    is_allowed = highest is not None and max(lowest or 0, case.told) <= told <= highest
    return told if is_allowed else highest


def _accepted(kafka: Facts) -> Facts:
    """The facts where the core accepts the request, and answers once it is done or its time is
    over."""
    error = dict(kafka)["error"]
    if error in (ErrorCode.NONE.name, ErrorCode.REQUEST_TIMED_OUT.name):
        return kafka
    return (("error", "taken, answered later"),)


def _filled(exchange: Exchange, reply: Reply) -> PeerResponse:
    """The answer with the bytes that the host would read; for records, only that there are some."""
    message, theirs = reply.message, exchange.reply
    if isinstance(reply.read, LogRead) and isinstance(theirs, FetchResponse):
        assert isinstance(message, FetchResponse)
        first = theirs.batches[:1]
        if first and first[0].base_offset <= reply.read.start_offset < first[0].end_offset:
            return replace(message, batches=theirs.batches)
        return replace(message, batches=(_unread(reply.read.start_offset),))
    if isinstance(reply.read, SnapshotRead) and isinstance(theirs, FetchSnapshotResponse):
        assert isinstance(message, FetchSnapshotResponse)
        length = len(theirs.data)
        is_slice = 0 < length <= reply.read.length
        return replace(message, data=theirs.data if is_slice else b"?" * reply.read.length)
    return message


def _unread(offset: int) -> Batch:
    return Batch(offset, offset, 0, data=b"?")


_OF_LEADER = "as fetched"


def _log_ends(exchange: Exchange, state: State) -> str:
    """Whether each replica's log end is one that its fetches allow; the leader's own log end is
    unknown."""
    reply, term = exchange.reply, state.term
    assert isinstance(reply, DescribeQuorumResponse)
    assert term is not None
    wrong = []
    for each in (*reply.voters, *reply.observers):
        if each.replica.node_id == exchange.node:
            continue
        least = _fetched_end(term.answered, each.replica)
        most = _fetched_end(term.arrived, each.replica)
        if not min(least, most) <= each.log_end <= max(least, most):
            wrong.append(f"{each.replica.node_id}: {each.log_end}, {least} to {most} fetched")
    return ", ".join(wrong) or _OF_LEADER


def _fetched_end(role: Leader, replica: ReplicaKey) -> int:
    """The offset up to which a replica has fetched (exclusive); -1 where it hasn't fetched. A
    leader names static voters without directory ids, while the voters' fetches have them."""
    named = Voter(replica)
    return next((each.log_end for key, each in role.progress.items() if named.matches(key)), -1)


def _facts(request: PeerRequest, reply: PeerResponse) -> Facts:
    """The compared facts. Times and texts are not compared; an error hides the facts that it makes
    meaningless."""
    error = ("error", reply.error.name)
    if is_top_level(reply.error) or isinstance(request, _OF_ADMINISTRATORS):
        return (error,)
    leader = (error, ("epoch", reply.epoch), ("leader", reply.leader_id))
    is_fine = reply.error is ErrorCode.NONE
    match reply:
        case VoteResponse():
            return (*leader, *_endpoint(reply), ("granted", reply.granted))
        case FetchResponse() if is_fine:
            first = reply.batches[0] if reply.batches else None
            records = "none" if first is None else f"from {first.base_offset}"
            return (
                *leader,
                ("high watermark", -1 if reply.high_watermark is None else reply.high_watermark),
                ("log start", reply.log_start),
                ("diverging", _id(reply.diverging)),
                ("snapshot", _id(reply.snapshot_id)),
                ("records", records),
            )
        case FetchSnapshotResponse() if is_fine:
            return (
                *leader,
                ("snapshot", _id(reply.snapshot_id)),
                ("size", reply.size),
                ("position", reply.position),
                ("bytes", len(reply.data)),
            )
        case DescribeQuorumResponse() if is_fine:
            return (
                *leader,
                ("high watermark", reply.high_watermark),
                ("voters", tuple(sorted(each.replica for each in reply.voters))),
                ("observers", tuple(sorted(each.replica for each in reply.observers))),
                ("log ends", _OF_LEADER),
            )
        case DescribeQuorumResponse():
            return (error,)
        case FetchResponse() | FetchSnapshotResponse():
            return leader
        case _:
            return (*leader, *_endpoint(reply))


def _endpoint(reply: PeerResponse) -> Facts:
    """The facts about where the leader listens: one endpoint, of the peers' listener."""
    where = ", ".join(f"{each.host}:{each.port}" for each in reply.leader_endpoints)
    return (("listens at", where or "unknown"),)


def _id(found: OffsetAndEpoch | None) -> str:
    return "none" if found is None else f"{found.offset}-{found.epoch}"


def _text(facts: Facts) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts)
