"""Facts that users notice: partitions that nobody can read or write, and a quorum that accepts no
change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from replica.doctor.check.catalogue import files, health, log
from replica.doctor.check.rule import Finding
from replica.doctor.health.absent import Absence
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.copy_first import (
    after_copy,
    copy_step,
    start_conditions,
    steps_if_lost,
)
from replica.doctor.health.signs_of_life import FENCED_LATER, SESSION_MS
from replica.doctor.quorum.conditions import NoLeader
from replica.doctor.verdict.evidence import ClusterEvidence, Since, StoppedBefore
from replica.doctor.verdict.lost_directories import (
    around_starts,
    brokers_in,
    steps_around_lost,
    still_refusing_text,
)
from replica.doctor.verdict.start_of_brokers import of_no_start, start_of_brokers
from replica.doctor.verdict.start_of_voters import StartOfVoters, start_of_voters
from replica.doctor.verdict.verdict import Fact, Level, Verdict
from replica.doctor.verdict.without_winner import (
    NO_LEADER,
    PROBABLY,
    is_without_leader,
    ran_last,
    step_of_voters,
    stood_since,
    without_winner,
)
from replica.metadata.image.partition import topic_of
from replica.severity import Severity
from replica.words import counted, listed, ms_text, named, shortened

_LEADERLESS = (health.WITHOUT_LEADER.id, health.NO_ELIGIBLE_LEADER.id)
_BROKERS = (health.FENCED_BROKER.id, health.UNREGISTERED_BROKER.id, health.LOST_DIRECTORY.id)
_CERTAINTY = {
    health.MAJORITY_STOPPED.id: (
        Level.AT_RISK,
        f"{PROBABLY}no leader, and accepts no change",
    ),
    health.LEADER_GAVE_UP.id: (Level.OUTAGE, NO_LEADER),
    log.ENDLESS_ELECTIONS.id: (Level.OUTAGE, "The cluster accepts no change"),
}
"""For each rule by which the quorum may accept no change: the level of its fact, and the beginning
of the text. MAJORITY_STOPPED isn't sure, because voters that stopped look like voters that were
copied before the others."""
_FATE = {health.MAJORITY_STOPPED.id: " A start of the voters may discard these records."}
"""A sentence about the future of the records that a rule names."""
NO_CHANGE = (health.LEADER_GAVE_UP.id, log.ENDLESS_ELECTIONS.id, files.ELECTIONS_WITHOUT_WINNER.id)
"""The rules whose facts, if they are an outage, mean that the cluster accepts no change."""
MAY_LACK_LEADER = frozenset({*NO_CHANGE, health.MAJORITY_STOPPED.id})
"""The rules about a quorum that has no leader, or may have none."""
OUTAGE_RULES = (*_LEADERLESS, health.BELOW_MIN_ISR.id, *_CERTAINTY)
"""The rules whose findings users notice, or may notice."""
_SHOWN = 5
_VANISHED = (
    "was fenced without a shutdown: it crashed or was cut off",
    "were fenced without a shutdown: they crashed or were cut off",
)
_IDLE = (
    "was fenced while it led no partition: it was stopped, crashed or was cut off",
    "were fenced while they led no partition: they were stopped, crashed or were cut off",
)
"""The texts about one broker that was fenced while it led no partition, and about several."""
_DOWN = {
    Absence.FENCED: ("is down", "are down"),
    Absence.VANISHED: _VANISHED,
    Absence.IDLE: _IDLE,
    Absence.ASKED: ("is down after a shutdown in order", "are down after a shutdown in order"),
    Absence.STOPPING: ("is shutting down", "are shutting down"),
}
"""What is said of one broker and of several, for each way of being absent. The order is that of
the clauses in a text."""
_TOPICS_SHOWN = 3
_NAMED = 3
"""The most partitions that are named. If there are more, a text names their topics instead."""


def outage_facts(evidence: ClusterEvidence) -> Iterator[Fact]:
    """The outages of the newest state: partitions without leader, then partitions that refuse
    writes, then a quorum that accepts no change. A quorum that is known to have no leader stands
    first: no broker that starts is unfenced before it has one."""
    found = {finding.rule.id: finding for finding in evidence.health or ()}
    of_quorum = [*_of_quorum(evidence), *without_winner(evidence)]
    sure = [fact for fact in of_quorum if is_without_leader(fact)]
    yield from sure
    leaderless = [found[rule] for rule in _LEADERLESS if rule in found]
    causes = [*_causes(found, leaderless)]
    copy, step = copy_step(evidence.copy_first), ""
    if leaderless:
        once_led = _next_step(leaderless, causes, evidence, None)
        step = _next_step(leaderless, causes, evidence, copy)
        if sure:
            step = _once_led(once_led if copy in sure[0].next_step else step)
        yield Fact(
            Level.OUTAGE,
            Severity.ERROR,
            _without_leader(leaderless, causes, evidence),
            step,
            tuple(one.rule.id for one in (*leaderless, *causes)),
            once_led,
        )
    refused = found.get(health.BELOW_MIN_ISR.id)
    if refused is not None:
        is_said = any(copy in one for one in (step, *(fact.next_step for fact in sure)))
        why, bring = f".{_because(causes, evidence)}", refused.rule.next_step
        if leaderless and causes:  # the fact before has told it
            why = ", for the same reason."
            start = () if evidence.has_two_histories else _to_start(causes, evidence)
            if start:
                started = named("broker", start, limit=_SHOWN)
                names = [one.name for one in refused.subjects]
                told, disks = still_refusing_text(names, started, evidence)
                why += told
                bring = "" if disks <= {*_down_and_lost(causes)[1]} else bring
        yield Fact(
            Level.OUTAGE,
            refused.severity,
            f"{_of_partitions((refused,), evidence)} {_refuses(refused, evidence.refusing)}: too "
            f"few replicas are in sync{why}",
            after_copy(evidence.copy_first, bring, is_said=is_said) if bring else "",
            (refused.rule.id,),
        )

    yield from (fact for fact in of_quorum if fact not in sure)


def _causes(found: Mapping[str, Finding], leaderless: Iterable[Finding]) -> Iterator[Finding]:
    """The findings about brokers that show why these partitions have no leader. The finding about
    lost directories keeps only the replicas of these partitions."""
    names = {subject.name for one in leaderless for subject in one.subjects}
    for rule in _BROKERS:
        if (finding := found.get(rule)) is None:
            continue
        if rule == health.LOST_DIRECTORY.id and names:
            of_these = tuple(one for one in finding.subjects if one.name in names)
            finding = replace(finding, subjects=of_these)
        if finding.subjects:
            yield finding


def _once_led(step: str) -> str:
    """The step as one that waits for a leader of the quorum: no broker that starts is unfenced
    before the quorum has one."""
    return f"Once the quorum has a leader: {step[0].lower()}{step[1:]}"


def with_verdict(cluster: Cluster, verdict: Verdict | None) -> Cluster:
    """The cluster with what its verdict says about the quorum's leader (Cluster.by_verdict)."""
    return cluster if verdict is None else replace(cluster, by_verdict=no_leader_by(verdict.facts))


def no_leader_by(facts: Iterable[Fact]) -> NoLeader | None:
    """Why the cluster accepts no change; None where nothing shows that it may accept none."""
    for fact in facts:
        if not set(NO_CHANGE).isdisjoint(fact.rules):
            is_sure = fact.level is Level.OUTAGE
            why = f"has {'' if is_sure else 'perhaps '}no leader, by the verdict"
            found = NoLeader(why, is_sure, down=fact.down)
            return found._replace(first=fact.first or found.first)
    return None


def leader_lacked(facts: Iterable[Fact]) -> str:
    """`no leader` if these facts say so of the quorum, `probably no leader` or `perhaps no leader`
    if they aren't sure; else "". The word `probably` is looked for in the text of the fact, because
    a fact that comes from a lake has nothing else that shows it."""
    for fact in facts:
        if not MAY_LACK_LEADER.isdisjoint(fact.rules):
            if fact.text.startswith(PROBABLY):
                return "probably no leader"
            return "no leader" if fact.level is Level.OUTAGE else "perhaps no leader"
    return ""


def _of_quorum(evidence: ClusterEvidence) -> Iterator[Fact]:
    """Facts about a quorum that accepts no change. If a rule has findings about several nodes, the
    fact names the node with the newest epoch."""
    of_files = [one.finding for one in evidence.findings]
    for rule in _CERTAINTY:
        found = [one for one in (*(evidence.health or ()), *of_files) if one.rule.id == rule]
        if found:
            newest = max(found, key=lambda one: (one.epoch or 0, one.offset or 0))
            level, what = _CERTAINTY[rule]
            text = f"{what}: {newest.message}.{_FATE.get(rule, '')}"
            nodes = [subject.name.removeprefix("voter ") for subject in newest.subjects]
            start: StartOfVoters | None = None
            rules: tuple[str, ...] = (rule,)
            if rule == health.LEADER_GAVE_UP.id:
                told, rules = stood_since(evidence), (rule, files.ELECTIONS_WITHOUT_WINNER.id)
                text = f"{text}{told}"
                start = start_of_voters(ran_last(evidence, nodes), evidence.known_voters)
            step = step_of_voters(newest, nodes, start)
            yield Fact(level, newest.severity, text, step, rules, start=start)


def _without_leader(
    leaderless: Sequence[Finding], causes: Iterable[Finding], evidence: ClusterEvidence
) -> str:
    has = "has" if sum(len(finding.subjects) for finding in leaderless) == 1 else "have"
    since = evidence.leaderless
    verb = f"{has} no leader" if since is None else _had_none(has, since)
    is_bound = since is not None and not evidence.has_two_histories  # the other may run longer
    before = "" if since is None or not is_bound else _may_be_older(since, is_of_one=has == "has")
    return f"{_of_partitions(leaderless, evidence)} {verb}.{_because(causes, evidence)}{before}"


def _may_be_older(since: Since, *, is_of_one: bool) -> str:
    """A sentence that the outage may have begun before the brokers were fenced: they had stopped
    before, at an unknown time. Empty if no broker had stopped before, or only in the same second.
    is_of_one: whether one partition is without leader."""
    if not since.stopped:
        return ""
    times = [one.at_ms for one in since.stopped if one.at_ms is not None]
    created = since.created_ms
    is_known = len(times) == len(since.stopped)
    newest = max(created or 0, min(times) if is_known else 0)
    if ms_text(newest) == ms_text(since.first_ms):
        return ""
    # a log has no heartbeats: a sign from long before the timeout says less than the timeout does
    is_own = all(one.is_own_end for one in since.stopped)
    if not is_known or not (is_own or since.first_ms - newest <= SESSION_MS):
        return f" The outage may have begun earlier: {FENCED_LATER}."
    brokers = named("broker", [str(one.broker) for one in since.stopped], limit=_SHOWN)
    is_one, first = len(times) == 1, ms_text(min(times))
    later = "" if ms_text(max(times)) == first else " and later"
    signs, are, them = ("sign", "is", "it") if is_one else ("signs", "are", "them")
    whose, what = "The log's", ""
    if any(one.is_own_end for one in since.stopped):
        whose, what = "The", f" {_own_ends(since.stopped)},"
    born = ""
    if created is not None and created > min(times):
        first_of = "this partition" if is_of_one else "the first of these partitions"
        born = f", and {first_of} was created at {ms_text(created)}"
        them = "its creation"
    return (
        f" {whose} last {signs} of life of {brokers} {are}{what} of {first}{later}{born}: the "
        f"outage may have begun at any time after {them}."
    )


def _own_ends(stopped: Sequence[StoppedBefore]) -> str:
    """A text such as `the end of its own copy of the log`."""
    if len(stopped) == 1:
        return "the end of its own copy of the log"
    if all(one.is_own_end for one in stopped):
        return "the ends of their own copies of the log"
    return "records in the log and ends of their own copies of it"


def _refuses(refused: Finding, since: Since | None) -> str:
    """A clause such as `have refused writes with acks=all since 2026-11-21 05:56:22 UTC`."""
    is_one, writes = len(refused.subjects) == 1, "writes with acks=all"
    if since is None:
        return f"{'refuses' if is_one else 'refuse'} {writes}"
    return _for(f"{'has' if is_one else 'have'} refused {writes}", f"refuse {writes}, ", since)


def _had_none(has: str, since: Since) -> str:
    """A clause such as `have had no leader since 2026-11-21 05:56:22 UTC`; if partitions lost their
    leaders in several seconds, the clause says how many did so first."""
    return _for(f"{has} had no leader", f"{has} no leader: ", since)


def _for(past: str, now: str, since: Since) -> str:
    """The clause with the time since which it is true. past: the clause for one time. now: the
    clause where partitions followed one after another."""
    first, last = ms_text(since.first_ms), ms_text(since.last_ms)
    if not since.is_exact:
        return f"{past} since {first} at the latest"
    if first == last:
        return f"{past} since {first}"
    return f"{now}{since.at_first} since {first}, all since {last}"


def _of_partitions(findings: Sequence[Finding], evidence: ClusterEvidence) -> str:
    """A text such as `614 of 690 partitions (12 topics)`, or `1 of 690 partitions (orders-0)`."""
    names = {subject.name for finding in findings for subject in finding.subjects}
    total = counted(len(names), "partition")
    if evidence.partitions:
        total = f"{len(names)} of {evidence.partitions} partitions"
    if len(names) > _NAMED:
        return f"{total} ({topics_text(names)})"
    return f"{total} ({listed([shortened(name) for name in sorted(names)])})"


def topics_text(partitions: Iterable[str]) -> str:
    """A text such as `topics a and b`, or `12 topics`."""
    topics = sorted({topic_of(name) for name in partitions})
    if len(topics) > _TOPICS_SHOWN:
        return f"{len(topics)} topics"
    return named("topic", [shortened(topic) for topic in topics])


def absent_text(finding: Finding, absent: Mapping[int, Absence]) -> str:
    """Sentences about the brokers of a finding that aren't live, and hold replicas."""
    holds = "It holds replicas." if len(finding.subjects) == 1 else "They hold replicas."
    return f"{_sentences(_cause(finding, absent)).strip()} {holds}"


def _because(causes: Iterable[Finding], evidence: ClusterEvidence) -> str:
    """Sentences such as ` Broker 11 is down.`"""
    return _sentences(text for finding in causes for text in _cause(finding, evidence.absent))


def _sentences(clauses: Iterable[str]) -> str:
    """The clauses as sentences, a space before each."""
    return "".join(f" {text[0].upper()}{text[1:]}." for text in clauses)


def _absences(brokers: Iterable[str], absent: Mapping[int, Absence]) -> Iterator[str]:
    """Clauses about brokers that aren't live, such as `broker 11 is down`. One clause names all
    brokers that are absent in the same way."""
    names = [*brokers]
    for how, (of_one, of_several) in _DOWN.items():
        alike = [one for one in names if absent.get(int(one), Absence.FENCED) is how]
        if alike:
            told = of_one if len(alike) == 1 else of_several
            yield f"{named('broker', alike, limit=_SHOWN)} {told}"


def _cause(finding: Finding, absent: Mapping[int, Absence]) -> Iterator[str]:
    """Clauses such as `broker 11 is down`."""
    names = brokers_in(finding)
    if not names:
        return
    brokers = named("broker", names, limit=_SHOWN)
    one = len(names) == 1
    if finding.rule is health.FENCED_BROKER:
        yield from _absences(names, absent)
    elif finding.rule is health.UNREGISTERED_BROKER:
        yield f"{brokers} {'is' if one else 'are'} not registered"
    else:
        directory = "a log directory" if one else "log directories"
        yield f"{brokers} {'has' if one else 'have'} {directory} offline"


def _next_step(
    leaderless: Sequence[Finding],
    causes: Iterable[Finding],
    evidence: ClusterEvidence,
    copy: str | None,
) -> str:
    """The step that brings the leaders back: stopped brokers first, then directories. copy: from
    copy_step; None for the moment of Fact.once_led."""
    down, lost = _down_and_lost(causes)
    copies, if_lost = evidence.copy_first, steps_if_lost(evidence.copy_first)
    before, after = around_starts(evidence, start_conditions(copies) if copy is None else copy)
    steps = [*before, *([if_lost] if if_lost else [])]
    start, kept = _to_start(causes, evidence), {str(one.broker) for one in evidence.emptied}
    without = len({one.name for found in leaderless for one in found.subjects})
    told = start_of_brokers(start, without, evidence, copy) if start else ""
    if lost:
        steps += steps_around_lost(lost, down, told, without, evidence)
    elif start:
        steps.append(told)
    elif others := [one for one in down if one not in kept]:
        steps.append(of_no_start(leaderless, others, evidence, is_first=not before))
    if not down and not lost and not after:  # nothing is known that ends it
        return next(finding.rule.next_step for finding in leaderless)
    other = "other " if if_lost else ""
    if not after:
        after = [f"Run no {other}unclean election before: it may lose data."]
    elif start or lost:
        after = [*after, "Run no other unclean election: it may lose data."]
    return " ".join([*steps, *after])


def _down_and_lost(causes: Iterable[Finding]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the brokers that are down, the brokers with a lost directory) of these findings."""
    by_rule: Mapping[str, tuple[str, ...]] = {one.rule.id: brokers_in(one) for one in causes}
    fenced, gone, lost = (by_rule.get(rule, ()) for rule in _BROKERS)
    return (*fenced, *gone), lost


def _to_start(causes: Iterable[Finding], evidence: ClusterEvidence) -> Sequence[str]:
    """The brokers whose start ends the outage: those that are down. Empty if no start gives a
    partition a leader. A broker that has lost the directory for which partitions wait is among them
    only if other partitions wait for it, too."""
    down, lost = _down_and_lost(causes)
    brings = {str(one.broker): one.partitions for one in evidence.returning}
    if brings and not lost and not any(brings.values()):
        return ()
    kept = {*lost, *(str(one.broker) for one in evidence.emptied)}
    return [one for one in down if one not in kept or brings.get(one)]
