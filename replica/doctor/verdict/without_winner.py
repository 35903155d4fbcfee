"""Facts that nobody wins an election of the quorum. No log has a record of such elections: only the
epoch in the quorum-state of a voter that stood for election shows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from replica.doctor.check.catalogue import files, health
from replica.doctor.check.rule import Finding
from replica.doctor.health.copy_first import copy_step
from replica.doctor.quorum.known_voter import KnownVoter
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.start_of_voters import StartOfVoters, start_of_voters
from replica.doctor.verdict.verdict import Fact, Level
from replica.model.voters import is_blocking, majority
from replica.severity import Severity
from replica.words import counted, listed, ms_text, named

PROBABLY = "The quorum has probably "
"""The beginning of the text of a fact that isn't sure."""
PERHAPS = "The quorum has perhaps "
"""The beginning of the text of a fact that is less sure than a fact with PROBABLY."""
NO_LEADER = "The quorum has no leader, and accepts no change"
_RULE = files.ELECTIONS_WITHOUT_WINNER
_SHOWN = 5
_BY_YOU = "If you stopped the quorum yourself, nothing is wrong."
_FETCH_TIMEOUT_MS = 2_000
"""controller.quorum.fetch.timeout.ms by default: a voter stands for election only if it has heard
of no leader for so long. So another log that ends less than this time after the voter's log still
ended before the elections began."""
_IF_UNLED = (
    "Without a leader no partition gets another leader, and no topic, config or registration "
    "changes."
)
_IF_LED = "If the other voters have one, {} can't reach them."


def is_without_leader(fact: Fact) -> bool:
    """Whether the fact is that no voter leads the quorum, or can be elected."""
    rules = {health.LEADER_GAVE_UP.id, _RULE.id}
    return fact.severity is Severity.ERROR and not rules.isdisjoint(fact.rules)


def beside_elections(facts: Iterable[Fact], outages: Iterable[Fact]) -> Iterator[Fact]:
    """The `facts` beside outages. If the quorum has no leader, steps that only a leader can carry
    out are removed from them. So is the start of a voter: the step about the quorum starts the
    voters in the right order. Where another fact has the start of a fenced broker, the fact that
    its node is a voter does not say it again."""
    facts, outages = tuple(facts), tuple(outages)
    is_led = not any(map(is_without_leader, outages))
    is_started = any(health.FENCED_BROKER.id in one.rules for one in (*facts, *outages))
    steps = {
        health.VOTER_ON_FENCED_BROKER.id: "",
        health.RETENTION_SHORTENED.id: f"{health.COPY_BEFORE_START}.",
    }
    for fact in facts:
        found = () if is_led else [steps[rule] for rule in fact.rules if rule in steps]
        if is_led and is_started and health.VOTER_ON_FENCED_BROKER.id in fact.rules:
            step = fact.next_step.replace(f"{health.START_NODE}s", "S")
            yield replace(fact, next_step=step)
        else:
            yield replace(fact, next_step=found[0]) if found else fact


def without_winner(evidence: ClusterEvidence) -> Iterator[Fact]:
    """The fact that nobody wins an election. It is sure if the voters that went through many
    elections are so many that the others are no majority. Fewer voters may only be cut off from the
    others. Then the fact is sure if directories of all the others were given, and none of their
    logs continues after the logs of these voters. If no directory of the others was given, the fact
    isn't sure. There is no such fact if a leader surely gave up: another fact says so."""
    if any(one.rule is health.LEADER_GAVE_UP for one in evidence.health or ()):
        return
    failed = {
        where.removeprefix("node "): finding
        for where, finding in evidence.findings
        if finding.rule is _RULE
    }
    found = {node: one for node, one in failed.items() if node in evidence.voters}
    missing = evidence.missing
    away = [] if missing is None else sorted({str(one.node_id) for one in missing.missing})
    if found and is_blocking(len(found), len(evidence.voters)):
        yield _sure(found, evidence)
    elif found and away and not set(evidence.voters) - {*found, *away}:
        yield _beside_others(found, [one for one in failed if one not in found], away, evidence)
    elif found:
        yield from _where_no_log_goes_on(found, evidence)
    elif evidence.unled and away:
        yield _unled(away, evidence)


def stood_since(evidence: ClusterEvidence) -> str:
    """A sentence about the elections that nobody won since a leader gave up; "" if no file shows
    any."""
    found = {where: one for where, one in evidence.findings if one.rule is _RULE}
    if not found:
        return ""
    nodes = named("node", [where.removeprefix("node ") for where in found], limit=_SHOWN)
    first = next(iter(found.values()))
    return f" Nobody has won an election since, by the files of {nodes} ({first.message})."


def ran_last(evidence: ClusterEvidence, stopped: Collection[str]) -> list[int]:
    """The voters that ran when a leader had given up, as far as files show: those that know of an
    epoch after it. stopped: those that are known to have stopped before."""
    whole = [str(one.key.node_id) for one in evidence.known_voters if one.doubt is None]
    return [int(one) for one in whole if one in evidence.unled and one not in stopped]


def step_of_voters(finding: Finding, nodes: Sequence[str], start: StartOfVoters | None) -> str:
    """The step that brings a leader back. nodes: the voters that the finding knows to have stopped,
    which are its subjects."""
    if start is not None and (start.of_unseen or len(nodes) != 1):
        return f"{start.text} {_BY_YOU}"
    if not nodes:
        return finding.rule.next_step
    if len(nodes) == 1:
        why = finding.subjects[0].what
    else:
        why = listed([f"{one.name}: {one.what}" for one in finding.subjects], limit=_SHOWN)
    return (
        f"Start {named('node', nodes, limit=_SHOWN)}: {why}. Then start the other voters that "
        f"don't run. {_BY_YOU} Stop no broker before there is a leader."
    )


def _sure(found: Mapping[str, Finding], evidence: ClusterEvidence) -> Fact:
    """The fact where the voters that saw no winner are so many that nobody else can win."""
    first, nodes = next(iter(found.values())), named("node", list(found), limit=_SHOWN)
    start = start_of_voters([*map(int, found)], evidence.known_voters)
    count = len(evidence.voters)
    needed = f" A leader needs {majority(count)} of the {count} voters." * bool(start)
    return Fact(
        Level.OUTAGE,
        Severity.ERROR,
        f"The cluster accepts no change: nobody wins an election, by the files of {nodes} "
        f"({first.message}).{needed}",
        _RULE.next_step if start is None else start.text,
        (_RULE.id,),
        start=start,
    )


def _beside_others(
    found: Mapping[str, Finding],
    agree: Sequence[str],
    away: Sequence[str],
    evidence: ClusterEvidence,
) -> Fact:
    """The fact where only the voters that were not given know whether they have a leader. found:
    the voters that saw no winner. agree: the observers that saw none. away: the other voters."""
    first, nodes = next(iter(found.values())), named("node", list(found), limit=_SHOWN)
    seen = f", and {named('node', agree, limit=_SHOWN)} saw no leader either" if agree else ""
    perhaps = PROBABLY if agree else PERHAPS
    start = start_of_voters([*map(int, found)], evidence.known_voters, may_run=True)
    return Fact(
        Level.OUTAGE if agree else Level.ATTENTION,
        Severity.WARNING,
        f"{perhaps}had no leader{_since(evidence)}: nobody won an election, by the files of "
        f"{nodes} ({first.message}){seen}. {_IF_UNLED} {_IF_LED.format(nodes)}",
        _find_out(nodes, away, start),
        (_RULE.id,),
        start=start,
    )


def _unled(away: Sequence[str], evidence: ClusterEvidence) -> Fact:
    """The fact where files name a newer epoch than the newest log's, and no leader of it: the last
    leader gave up, or an election began. away: the voters that were not given, who may have a
    leader."""
    nodes, is_one = named("node", evidence.unled, limit=_SHOWN), len(evidence.unled) == 1
    knows = "knows that its leader gave up or was replaced" if is_one else (
        "know that their leader gave up or was replaced"
    )  # fmt: skip
    voters = [int(one) for one in evidence.unled if one in evidence.voters]
    start = start_of_voters(voters, evidence.known_voters, may_run=True)
    return Fact(
        Level.ATTENTION,
        Severity.WARNING,
        f"{PERHAPS}had no leader{_since(evidence)}: {nodes} {knows}, and of no election that was "
        f"won since. {_IF_UNLED} {_IF_LED.format(nodes)}",
        _find_out(nodes, away, start),
        (health.LEADER_GAVE_UP.id, _RULE.id),
        start=start,
    )


def _find_out(nodes: str, away: Sequence[str], start: StartOfVoters | None) -> str:
    """The step where the voters that were not given may have a leader. nodes: the names of the
    nodes that saw no leader. away: the voters that were not given. start: the voters that may have
    to start; None if this isn't known."""
    others = [*away] if start is None else [*map(str, start.others)]
    enough = "" if start is None else start.enough
    is_one = len(others) == 1
    those = f"If it doesn't, start it with its own disk{enough}."
    if not is_one:
        those = f"Start those that don't, each with its own disk{enough}."
    return (
        f"Find out whether {named('node', others, limit=_SHOWN)} run{'s' * is_one}, and what keeps "
        f"{nodes} from reaching {'it' if is_one else 'them'}: addresses, certificates, cluster "
        f"ids. {those} Restart no broker meanwhile: it comes back only once there is a leader. If "
        "a majority of the voters is lost, `kraftlake recover --plan` says how the quorum can go "
        "on."
    )


def _since(evidence: ClusterEvidence) -> str:
    at_ms = None if evidence.state is None else evidence.state.at_ms
    return "" if at_ms is None else f" since {ms_text(at_ms)}"


def _where_no_log_goes_on(found: Collection[str], evidence: ClusterEvidence) -> Iterator[Fact]:
    """The fact where the logs of all other voters end with the log of a voter that saw no winner,
    or before it. A leader appends two records a second, also when nothing happens: so nobody has
    led since that voter's elections began."""
    known = {str(one.key.node_id): one for one in evidence.known_voters}
    others = {node: one for node, one in known.items() if node not in found}
    if not others or any(one.doubt is not None for one in known.values()):
        return
    ends = {node: one.ended_ms for node, one in known.items() if one.ended_ms is not None}
    own = [ends[node] for node in found if node in ends and known[node].behind_ms is None]
    if len(ends) < len(known) or not own or max(ends.values()) - max(own) > _FETCH_TIMEOUT_MS:
        return
    nodes = named("node", list(found), limit=_SHOWN)
    epochs, since = _epochs(found, known), _since(evidence)
    its, them = ("its", "it") if len(found) == 1 else ("their", "them")
    stood = f"{nodes} has stood for election in {epochs}{since} and won none"
    if len(found) > 1:
        stood = f"{nodes} have stood for election in {epochs}{since}, and nobody won"
    rest = named("node", list(others), limit=_SHOWN)
    gone = f"the log of {rest} does not go on after {its} own: it is"
    if len(others) > 1:
        gone = f"the logs of {rest} do not go on after {its} own: they are"
    start = start_of_voters([*map(int, found)], evidence.known_voters)
    copy = copy_step([one for one in evidence.copy_first if str(one.broker) in others])
    yield Fact(
        Level.OUTAGE,
        Severity.ERROR,
        f"{NO_LEADER}: {stood}, and {gone} down, or can't reach {them}. No topic, config or "
        "registration changes, and no partition gets another leader: those whose leader is down "
        "stay without one.",
        " ".join(filter(None, (copy, start.text))) if start else _RULE.next_step,
        (_RULE.id,),
        start=start,
        down=frozenset(map(int, others)),
    )


def _epochs(found: Collection[str], known: Mapping[str, KnownVoter]) -> str:
    """The number of epochs that nobody led: the epochs above the newest epoch that the other voters
    know, as text."""
    led = [one.known_epoch or 0 for node, one in known.items() if node not in found]
    newest = max(known[node].known_epoch or 0 for node in found)
    return counted(newest - max(led), "epoch")
