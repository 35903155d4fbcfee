"""The first page: the time of the incident, its effect on the cluster, and how certain both are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pipelines.report.evidence import Evidence, KnownOutages, Outage
from pipelines.report.moved import moved_text
from pipelines.report.report_facts import ReportFacts
from pipelines.report.source import Row, moment
from pipelines.report.travel.cluster_history import ClusterHistory
from pipelines.report.travel.steps import ABSENT, FENCED, SERVING, ReportSteps
from pipelines.report.travel.strip import at_most, troubles
from pipelines.report.words import duration_text
from replica.doctor.check.catalogue.files import ELECTIONS_WITHOUT_WINNER
from replica.doctor.check.catalogue.health import LEADER_GAVE_UP
from replica.doctor.health.exposure import NOTHING, PAIR
from replica.doctor.health.signs_of_life import FENCED_LATER
from replica.doctor.verdict.outage import leader_lacked
from replica.doctor.verdict.refused_writes import refused_step, refused_text
from replica.words import counted, listed, ms_range_text, ms_text, time_text

MAX_SHOWN = 3
"""The most losses that are named one by one."""
MAX_OUTAGES = 3
"""The most ended outages that are named one by one."""
_EARLIER = f"; the outage may have begun earlier: {FENCED_LATER}"
_UNLED = {
    LEADER_GAVE_UP.id: ", and gave up: nobody is known to lead since",
    ELECTIONS_WITHOUT_WINNER.id: ", and no election is known that was won since",
}
"""The end of the sentence about the newest leader, by the rule that shows that this leader leads no
more."""
_ONE_OF_TWO = ", in one of two histories"
HIGH, LIMITED = "high", "limited"


@dataclass(frozen=True)
class Summary:
    """The sentences of the first page about one cluster."""

    when: tuple[str, ...]
    """Sentences about times: of lost records, of partitions without leader, and of the quorum's
    leaders."""
    impact: tuple[str, ...]
    """The effect on partitions and records, and the state now."""
    certainty: str
    """LIMITED where `confidence` has reasons for doubt, otherwise HIGH."""
    confidence: tuple[str, ...]
    """The reasons for doubt, or else what proves the verdict."""
    refused: str = ""
    """A sentence about writes that were refused and are accepted again; "" where there are none."""
    refused_step: str = ""
    """What to do about the refused writes; "" where nothing is to be done."""


def summary(
    facts: ReportFacts,
    evidence: Evidence,
    voters: frozenset[int],
    known: KnownOutages | None,
    history: ClusterHistory | None = None,
) -> Summary:
    """The sentences of a cluster. voters: node ids of the newest epoch that names voters. known:
    None where it is unknown when partitions had no leader. history: None where the lake lacks the
    tables of the history, and for directories, whose page has a section of events."""
    found, refused = ((), ()) if known is None else (known.outages, known.refusals)
    if facts.has_two_histories:
        found, refused = (), ()  # they are those of one history, which may be the wrong one
    hidden = tuple(_hidden(facts, evidence, voters))
    doubts = (*hidden, *_doubts(facts, known))
    impact = (
        *_of_partitions(known, facts, _without_leader(evidence), is_all=not hidden),
        *_of_records(facts, is_all=not hidden),
        *_now(evidence, facts, is_all=not hidden),
    )
    moves = () if history is None else moved_text(history.steps)
    return Summary(
        (*_when_lost(facts), *_when_out(found), *moves, *_when_led(evidence, facts)),
        impact,
        LIMITED if doubts else HIGH,
        doubts or tuple(_proofs(facts, voters)),
        refused_text(refused, ms_text),
        refused_step(refused, ms_text),
    )


def known_outages(history: ClusterHistory | None) -> KnownOutages | None:
    """The outages that the history of a lake shows. history: None where the lake lacks its
    tables."""
    if history is None:
        return None
    steps = history.steps
    has_partitions = bool(steps.partitions.names)
    return KnownOutages(outages(steps), history.is_sampled, has_partitions, history.refusals)


def outages(steps: ReportSteps) -> tuple[Outage, ...]:
    """Each time during which partitions had no leader, the oldest first."""
    counts = [leaderless for leaderless, _ in troubles(steps)]
    unasked = _fenced_unasked(steps) if any(counts) else frozenset[int | None]()
    found = []
    for troubled, places in groupby(range(len(counts)), key=lambda step: counts[step] > 0):
        if troubled:
            span = list(places)
            found.append(_outage(steps, counts, span[0], span[-1], unasked))
    return tuple(found)


def _outage(
    steps: ReportSteps,
    counts: Sequence[int],
    first: int,
    last: int,
    unasked: Collection[int | None],
) -> Outage:
    """The outage from step `first` to step `last`, both inclusive. unasked: the result of
    _fenced_unasked."""
    worst = at_most(steps, counts[first : last + 1], first)
    is_over = last + 1 < len(counts)
    until = steps.times[last + 1] if is_over else None
    since = steps.times[first]
    told = worst.most, worst.of, since, steps.times[worst.step], until, is_over
    return Outage(*told, since is not None and since in unasked)


def _fenced_unasked(steps: ReportSteps) -> frozenset[int | None]:
    """The times at which brokers were fenced that had not asked for their shutdown."""
    states = steps.brokers.states
    return frozenset(
        steps.times[move.step]
        for move in steps.brokers.moves
        if ABSENT not in (move.before, move.after)
        if states[move.before][0] == SERVING and states[move.after][0] == FENCED
    )


def _when_lost(facts: ReportFacts) -> Iterator[str]:
    for loss in facts.losses[:MAX_SHOWN]:
        written = None if loss.effect is None else loss.effect.written_ms
        who = facts.names.nodes(loss.replicas, limit=5)
        if written is not None:
            yield f"Records that {who} lost, or would lose, were written {ms_range_text(*written)}."
        if loss.between is not None:
            yield f"They were seen to be gone in {facts.rounds.short(loss.between[1])}."


def _when_out(found: Sequence[Outage]) -> Iterator[str]:
    over = [one for one in found if one.is_over]
    if len(over) > MAX_OUTAGES:
        yield from _when_often_out(over)
    else:
        for one in over:
            if one.since_ms is not None and one.until_ms is not None:
                yield (
                    f"Up to {counted(one.most, 'partition')} had no leader from "
                    f"{ms_range_text(one.since_ms, one.until_ms)}{_EARLIER * one.began_before}."
                )
    for one in found:
        if not one.is_over and one.since_ms is not None:
            yield (
                f"Since {ms_text(one.since_ms)} there have always been partitions without leader, "
                f"up to {one.most} of them{_EARLIER * one.began_before}."
            )


def _when_often_out(over: Sequence[Outage]) -> Iterator[str]:
    """One sentence for many outages that have ended."""
    times = [one for one in over if one.seconds is not None]
    starts = [one.since_ms for one in over if one.since_ms is not None]
    ends = [one.until_ms for one in over if one.until_ms is not None]
    if not times or not starts or not ends:
        return
    longest = max(one.seconds or 0.0 for one in times)
    in_all = sum(one.seconds or 0.0 for one in times)
    yield (
        f"Partitions were without leader {len(over)} times between "
        f"{ms_range_text(min(starts), max(ends))}: {duration_text(in_all)} in all, "
        f"{duration_text(longest)} at most."
    )


def _when_led(evidence: Evidence, facts: ReportFacts) -> Iterator[str]:
    led = [row for row in evidence.leaders.rows if row["commitment"] != "superseded"]
    if not led:
        return
    newest = led[-1]
    who = "an unknown node" if newest["leader_id"] is None else f"node {newest['leader_id']}"
    since = time_text(moment(newest["started_at"]))
    rules = {rule for fact in evidence.facts for rule in fact.rules}
    until = ms_text(facts.end_written_ms)
    ends = f"the log ends at {until}, and " if until else ""
    end = f"; {ends}whether that node still leads isn't known"
    end = next((text for rule, text in _UNLED.items() if rule in rules), end)
    end = _ONE_OF_TWO if facts.has_two_histories else end
    yield (
        f"The captures tell of {counted(len(led), 'leader epoch')}; in the newest, "
        f"{newest['epoch']}, {who} led{f' from {since} on' * bool(since)}{end}."
    )


def _without_leader(evidence: Evidence) -> int | None:
    """The number of partitions without leader in the newest state; None where there are none, or
    where the number isn't known."""
    rows = () if evidence.exposure is None else evidence.exposure.rows
    return next((row["leaderless"] or None for row in rows if row["kind"] == NOTHING), None)


def _of_partitions(
    known: KnownOutages | None, facts: ReportFacts, now: int | None, *, is_all: bool
) -> Iterator[str]:
    """Sentences about the partitions that had no leader. now: the number of partitions without
    leader in the newest state; None where that number isn't known. is_all: whether nothing is
    missing from the captures, so that "never" may be said."""
    if facts.has_two_histories:
        yield (
            "There are two histories. Which partitions have no leader depends on which one is "
            "right."
        )
        return
    if known is None:
        yield "Nothing tells what partitions were without leader."
        return
    chosen = " that were looked at" if known.is_sampled else ""
    if not known.outages:
        if known.has_partitions and facts.may_reassure:
            none = "No partition was" if not chosen else f"None of the partitions{chosen} was"
            yield f"{none} {'ever' if is_all else 'seen'} without leader."
        return
    *_, last = known.outages
    worst = max(known.outages, key=lambda one: one.most)
    at = ""
    if not last.is_over:
        late = " at the latest" if last.began_before else ""
        since = "" if last.since_ms is None else f"Since {ms_text(last.since_ms)}{late} "
        text = f"{since}nobody can write to or read from partitions that have no leader"
        count = f"up to {last.most:,} of {last.of:,}{chosen}"
        if now is not None and not chosen:
            before = f" now, up to {last.most:,} before" if now < last.most else ""
            count = f"{now:,} of {last.of:,}{before}"
        yield f"{text[0].upper()}{text[1:]}: {count}."
        if worst.most <= last.most:
            return
    if worst.most_ms is not None:
        when = ms_text(worst.most_ms)
        at = f", by {when} at the latest" if worst.began_before else f", at {when}"
    yield (
        f"Nobody could write to or read from up to {worst.most:,} of "
        f"{worst.of:,} partitions{chosen}: they had no leader{at}."
    )


def _of_records(facts: ReportFacts, *, is_all: bool) -> Iterator[str]:
    if facts.has_two_histories:
        yield "The changes of one history will be lost, whichever is chosen."
        return
    if not facts.losses and facts.is_put_back:
        yield "Disks lack records that their nodes had: a start may lose changes of the cluster."
    if not facts.losses and facts.may_reassure:
        yield (
            "No change of the cluster was lost."
            if is_all
            else "No lost change of the cluster was seen. Whether one was lost is not known: see "
            "Confidence."
        )
    for count, text in (
        (_most(facts, "committed"), "that were committed were lost, or will be: clients saw them"),
        (_most(facts, "unproven"), "may have been committed; nothing proves it"),
        (_most(facts, "superseded"), "were lost, or will be, that no client ever saw accepted"),
    ):
        if count:
            yield f"{counted(count, 'record')} of the metadata log {text}."
    for loss in facts.losses:
        if loss.is_kept:
            yield (
                f"The copy of {facts.names.nodes(loss.replicas, limit=5)} went back by "
                f"{counted(loss.committed, 'committed record')}, which other nodes keep."
            )


def _most(facts: ReportFacts, name: str) -> int:
    """The most records of a kind that one loss took from the cluster. name: a count of
    LostRecordCount. Committed records that other nodes keep don't count."""
    taken = (loss for loss in facts.losses if name != "committed" or not loss.is_kept)
    return max((int(getattr(loss, name)) for loss in taken), default=0)


def _now(evidence: Evidence, facts: ReportFacts, *, is_all: bool) -> Iterator[str]:
    """Sentences about the newest state of the cluster."""
    rules = [row["rule"] for row in evidence.health.rows if row["severity"] != "info"]
    exposed = () if evidence.exposure is None else evidence.exposure.rows
    is_well = not rules and bool(evidence.health.rows or evidence.exposure is not None)
    lacked = leader_lacked(evidence.facts)
    when = "Now" if is_all and not lacked else "In the newest state that is known"
    if lacked:
        led = f"{when} all partitions have a leader, but the" if is_well else "The"
        yield (
            f"{led} quorum has {lacked}: as long as it has none, the partitions that a failing "
            "broker leads get no other leader."
        )
        return
    if facts.has_two_histories:
        return
    if is_well and facts.may_reassure:
        yield f"{when} all partitions have a leader, and no rule about this state warns."
    yield from _if_one_failed(exposed)


_HARMS = (("leaderless", "without leader"), ("below_min_isr", "below min.insync.replicas"))


def _if_one_failed(exposed: Sequence[Row]) -> Iterator[str]:
    """What the worst failure would add to the present harm: to partitions, and to the quorum. The
    failure of two brokers is only named if the failure of one adds nothing. exposed: the worst
    first."""
    now = next((row for row in exposed if row["kind"] == NOTHING), None)
    harmful = [row for row in exposed if row["kind"] != NOTHING and any(_added(row, now))]
    of_one = [row for row in harmful if row["kind"] != PAIR] or harmful
    chosen = [
        max(of_one, key=lambda row: _added(row, now)[:2], default=None),
        next((row for row in of_one if _added(row, now)[2]), None),
    ]
    told = [f"{_if_gone(row, now)}." for row in chosen if row is not None]
    yield from dict.fromkeys(told)


def _added(row: Row, now: Row | None) -> tuple[int, int, bool]:
    """How many more partitions would have each harm than now, and whether the quorum would lose its
    majority."""
    before = {} if now is None else now
    leaderless, below = ((row[name] or 0) - (before.get(name) or 0) for name, _ in _HARMS)
    goes = row["has_majority"] is False and before.get("has_majority") is not False
    return max(leaderless, 0), max(below, 0), goes


def _if_gone(row: Row, now: Row | None) -> str:
    """A sentence such as: If broker 12 failed now, 5 partitions would be without leader."""
    kind = "brokers" if row["kind"] == PAIR else row["kind"]
    gone = f"{kind} {row['gone'].replace(',', ' and ')}"
    *more, goes = _added(row, now)
    harm = []
    for (name, what), added in zip(_HARMS, more, strict=True):
        if added:
            already = row[name] - added
            are = f" ({already} already {'is' if already == 1 else 'are'})" if already else ""
            harm.append(f"{counted(row[name], 'partition')} would be {what}{are}")
    if goes:
        harm.append("the quorum would have no majority")
    return f"If {gone} failed now, {listed(harm)}"


def _hidden(facts: ReportFacts, evidence: Evidence, voters: frozenset[int]) -> Iterator[str]:
    """Sentences about what the captures don't show, such as the log of a voter that nobody
    captured."""
    missing = sorted(voters - {row["node_id"] for row in evidence.replicas.rows})
    if facts.judged is not None and facts.judged.not_judged:
        steps = facts.judged.next_steps
        for gap in facts.judged.not_judged:
            step = "" if gap.next_step in steps else f" {gap.next_step}"
            yield (
                f"{gap.what[0].upper()}{gap.what[1:]} can't be judged, because {gap.why}."
                f"{step.rstrip()}"
            )
    elif missing:
        nodes = listed([str(one) for one in missing], limit=5)
        yield f"Voters that nobody captured: {nodes}. What their logs hold is not known."
    if facts.damage:
        yield f"{counted(facts.damage, 'place')} of the files could not be read."
    if facts.unbuilt:
        yield f"{counted(facts.unbuilt, 'capture')} came after the last build and isn't counted."
    is_short = facts.known_to is not None and facts.known_to < facts.end_offset
    if is_short and not facts.has_two_histories:
        yield f"The state from offset {facts.known_to} on is not known."


def _doubts(facts: ReportFacts, known: KnownOutages | None) -> Iterator[str]:
    """Further reasons for which the other sentences are uncertain."""
    if facts.has_two_histories:
        yield "There are two histories, and no log alone proves which one is right."
    elif facts.is_put_back:
        yield "Disks lack records that their nodes had: the other disks decide what can be kept."
    unproven = _most(facts, "unproven")
    if unproven:
        yield f"Nothing proves whether {counted(unproven, 'record')} were committed."
    if facts.snapshots.get("unverifiable"):
        yield f"{counted(facts.snapshots['unverifiable'], 'snapshot')} can't be verified."
    if known is not None and known.is_sampled:
        yield "Moments are told of a sample of the changes; the view below says which."
    if facts.rounds.has_untimed:
        yield "Some capture times are unknown (`kraftlake capture` writes them)."


def _proofs(facts: ReportFacts, voters: frozenset[int]) -> Iterator[str]:
    if voters:
        yield f"The logs of all {counted(len(voters), 'voter')} were captured."
    yield "Every file could be read, and the state is known to the end of the log."
    if facts.losses:
        yield "What was lost is shown by the bytes of the logs, not guessed from times."
