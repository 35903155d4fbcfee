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
from replica.doctor.verdict.verdict import Fact, Level
from replica.model.voters import is_blocking, majority
from replica.severity import Severity
from replica.words import counted, ms_text, named

PROBABLY = "The quorum has probably "
"""The beginning of the text of a fact that isn't sure."""
NO_LEADER = "The quorum has no leader, and accepts no change"
_RULE = files.ELECTIONS_WITHOUT_WINNER
_SHOWN = 5
_FETCH_TIMEOUT_MS = 2_000
"""controller.quorum.fetch.timeout.ms by default: a voter stands for election only if it has heard
of no leader for so long. So another log that ends less than this time after the voter's log still
ended before the elections began."""
_OWN_DISKS = (
    "Each starts with its own disk, not with an older copy; no disk has to be emptied. End a "
    "process that hangs before."
)
_WHY_NOT = "find out what keeps it from reaching {}: addresses, certificates, cluster ids."


def is_without_leader(fact: Fact) -> bool:
    """Whether the fact is that no voter leads the quorum, or can be elected."""
    rules = {health.LEADER_GAVE_UP.id, _RULE.id}
    return fact.severity is Severity.ERROR and not rules.isdisjoint(fact.rules)


def beside_elections(facts: Iterable[Fact], outages: Iterable[Fact]) -> Iterator[Fact]:
    """These facts beside outages. If the quorum has no leader, steps that only a leader can carry
    out are removed from them. So is the start of a voter: the step about the quorum starts the
    voters in the right order. Where another fact has the start of a fenced broker, the fact that
    its node is a voter does not say it again."""
    facts, outages = tuple(facts), tuple(outages)
    is_led = not any(map(is_without_leader, outages))
    is_started = any(health.FENCED_BROKER.id in one.rules for one in (*facts, *outages))
    for fact in facts:
        if is_led and is_started and health.VOTER_ON_FENCED_BROKER.id in fact.rules:
            step = fact.next_step.replace(f"{health.START_NODE}s", "S")
            yield replace(fact, next_step=step)
        elif is_led:
            yield fact
        elif health.VOTER_ON_FENCED_BROKER.id in fact.rules:
            yield replace(fact, next_step="")
        else:
            yield replace(fact, next_step=fact.next_step.replace(health.SET_AGAIN, ""))


def without_winner(evidence: ClusterEvidence) -> Iterator[Fact]:
    """The fact that nobody wins an election. It is sure if the voters that went through many
    elections are so many that the others are no majority. Fewer voters may only be cut off from the
    others. Then the fact is sure if directories of all the others were given, and none of their
    logs continues after the logs of these voters. If no directory of the others was given, the fact
    isn't sure."""
    failed = {
        where.removeprefix("node "): finding
        for where, finding in evidence.findings
        if finding.rule is _RULE
    }
    found = {node: one for node, one in failed.items() if node in evidence.voters}
    if not found:
        return
    missing = evidence.missing
    away = [] if missing is None else sorted({str(one.node_id) for one in missing.missing})
    if is_blocking(len(found), len(evidence.voters)):
        first, nodes = next(iter(found.values())), named("node", list(found), limit=_SHOWN)
        yield Fact(
            Level.OUTAGE,
            Severity.ERROR,
            f"The cluster accepts no change: nobody wins an election, by the files of {nodes} "
            f"({first.message}).",
            _RULE.next_step,
            (_RULE.id,),
        )
    elif away and not set(evidence.voters) - {*found, *away}:
        yield _beside_others(found, [one for one in failed if one not in found], away, evidence)
    else:
        yield from _where_no_log_goes_on(found, evidence)


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
    perhaps = PROBABLY if agree else "The quorum has perhaps "
    return Fact(
        Level.OUTAGE if agree else Level.ATTENTION,
        Severity.WARNING,
        f"{perhaps}had no leader{_since(evidence)}: nobody won an election, by the files of "
        f"{nodes} ({first.message}){seen}. Without a leader no partition gets another leader, "
        "and no topic, config or registration changes. If the other voters have one, "
        f"{nodes} can't reach them.",
        f"Find out whether {named('node', away, limit=_SHOWN)} run"
        f"{'s' * (len(away) == 1)}, and what keeps {nodes} from reaching them: addresses, "
        "certificates, cluster ids. Restart no broker meanwhile: it comes back only once there "
        "is a leader. If a majority of the voters is lost, `kraftlake recover --plan` says how "
        "the quorum can go on.",
        (_RULE.id,),
    )


def _since(evidence: ClusterEvidence) -> str:
    at_ms = None if evidence.state is None else evidence.state.at_ms
    return "" if at_ms is None else f" since {ms_text(at_ms)}"


def _where_no_log_goes_on(found: Collection[str], evidence: ClusterEvidence) -> Iterator[Fact]:
    """The fact where the logs of all other voters end with the log of a voter that saw no winner,
    or before it. A leader appends two records a second, also when nothing happens: so nobody has
    led since that voter's elections began. No fact if a leader gave up, because another rule
    reports this."""
    known = {str(one.key.node_id): one for one in evidence.known_voters}
    others = {node: one for node, one in known.items() if node not in found}
    if any(one.rule is health.LEADER_GAVE_UP for one in evidence.health or ()):
        return
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
    yield Fact(
        Level.OUTAGE,
        Severity.ERROR,
        f"{NO_LEADER}: {stood}, and {gone} down, or can't reach {them}. No topic, config or "
        "registration changes, and no partition gets another leader: those whose leader is down "
        "stay without one.",
        _start(found, others, evidence),
        (_RULE.id,),
        down=frozenset(map(int, others)),
    )


def _epochs(found: Collection[str], known: Mapping[str, KnownVoter]) -> str:
    """The number of epochs that nobody led: the epochs above the newest epoch that the other voters
    know, as text."""
    led = [one.known_epoch or 0 for node, one in known.items() if node not in found]
    newest = max(known[node].known_epoch or 0 for node in found)
    return counted(newest - max(led), "epoch")


def _start(
    found: Collection[str], others: Mapping[str, KnownVoter], evidence: ClusterEvidence
) -> str:
    """The step that gives the quorum a majority again: the voters with the longest logs start
    first, as many as are needed, and then the rest."""

    def held(node: str) -> int:
        return others[node].held_end or 0

    order = sorted(others, key=lambda node: (-held(node), int(node)))
    needed = max(1, majority(len(evidence.voters)) - len(found))
    first, rest = (sorted(some, key=int) for some in (order[:needed], order[needed:]))
    nodes = named("node", list(found), limit=_SHOWN)
    longest = max(one.held_end or 0 for one in evidence.known_voters)
    its, it_is = ("its log holds", "it is") if len(first) == 1 else ("their logs hold", "they are")
    all_holds = f"{its} all that {nodes} hold{'s' * (len(found) == 1)}, and "
    is_whole = all(held(node) == longest for node in first)
    start = (
        f"Start {named('node', first, limit=_SHOWN)} first: {all_holds * is_whole}with {nodes} "
        f"{it_is} a majority."
    )
    if rest:
        start += f" Then start {named('node', rest, limit=_SHOWN)}."
    copy = copy_step([one for one in evidence.copy_first if str(one.broker) in others])
    return " ".join(
        filter(None, (copy, start, _OWN_DISKS, f"If one of them runs, {_WHY_NOT.format(nodes)}"))
    )
