"""The verdict on a cluster: one sentence, and how bad the state is, by rules over the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from pipelines.report.divergences import Parting
from pipelines.report.losses import MAX_LOSSES_TOLD, LostRecordCount, When
from pipelines.report.meaning import Effect, made_text, never_made_text, unknown_text
from pipelines.report.rounds import NO_ROUNDS, Rounds
from pipelines.report.words import Names, span
from replica.doctor.check.catalogue.log import NOT_KNOWN
from replica.doctor.quorum.reasons import IF_STOPPED
from replica.doctor.verdict.facts import AT_RISK
from replica.doctor.verdict.old_disks import OLD_DISKS
from replica.doctor.verdict.verdict import Fact, Gap, Level, facts_besides, read_first
from replica.metadata.records import NEWEST_KAFKA
from replica.words import counted, listed, ms_range_text, ms_text, named, sentence

_records = partial(counted, noun="record")
_MAX_CONFLICTS = 3
TOLD_BY_LOSSES = frozenset({"log-divergence", "conflict", "committed-data-at-risk"})


@dataclass(frozen=True)
class RuleCount:
    """The number of findings of one rule."""

    id: str
    """The rule's id."""
    severity: str
    findings: int
    """The number of findings in all captures."""
    now: int
    """The number of findings in the newest capture of each replica."""


@dataclass(frozen=True)
class ReportFacts:
    """The facts by which the rules make the verdict."""

    names: Names
    members: int
    """The number of replicas in the newest capture group."""
    end_offset: int
    """The largest log end offset of these replicas, exclusive."""
    relations: Mapping[str, int]
    """The number of pairs of these replicas, by the relation of the two logs."""
    losses: tuple[LostRecordCount, ...]
    partings: tuple[Parting, ...]
    """The divergences that any capture shows."""
    snapshots: Mapping[str, int]
    """The number of snapshots, by their verdict (gold.snapshot_validity)."""
    rules: tuple[RuleCount, ...]
    damage: int
    """The number of damaged places."""
    kinds: tuple[str, ...]
    """The kinds of the damage."""
    unbuilt: int
    """The number of captures that came in after the last build."""
    rounds: Rounds = NO_ROUNDS
    end_written_ms: int | None = None
    """The largest time of these replicas' records, in ms since 1970; None where no table has it."""
    known_to: int | None = None
    """The last end offset (exclusive) at which the metadata state is known; None where no table has
    it."""
    not_judged: tuple[Gap, ...] = ()
    """What can't be judged by the newest captures."""
    now: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Clause:
    """One statement of the verdict, with the level that it asks for."""

    level: Level
    text: str
    """A clause that begins with a small letter, and ends without a full stop."""


@dataclass(frozen=True)
class ReportVerdict:
    """The verdict on a cluster."""

    level: Level
    """The worst level of the facts and clauses."""
    clauses: tuple[Clause, ...]
    """What the logs and files of the cluster's replicas show."""
    now: tuple[Fact, ...] = ()
    """The facts of check's verdict on the newest captures, the worst first."""

    @property
    def headline(self) -> str:
        """What users notice now, or what an operator must do, such as `Now: 614 of 690 partitions
        have no leader.`. It is empty where nothing is wrong besides what the clauses describe."""
        told = " ".join(self._of_now())
        return f"Now: {told}" if told else ""

    def _of_now(self) -> Iterator[str]:
        """The texts of the facts that the clauses don't describe, the worst first."""
        above = self.of_other_clusters
        others = [fact for fact in self.now if not _is_of_losses(fact) and fact not in above]
        weighty, less = facts_besides(others)
        yield from (fact.text for fact in (*others[:1], *weighty))
        if less:
            yield f"And {counted(len(less), 'other finding')}."

    @property
    def of_other_clusters(self) -> tuple[Fact, ...]:
        """Facts that must be read before the sentence: as long as they hold, an operator would act
        on the wrong disk. Empty where the facts begin with such a fact."""
        return tuple(fact for fact in self.now[1:] if fact.is_of_other_clusters)

    @property
    def read_first(self) -> Fact | None:
        """The fact that has to be read before the first step; None where there is none, or where
        the clauses describe it."""
        fact = read_first([one for one in self.now if one not in self.of_other_clusters])
        return None if fact is None or _is_of_losses(fact) else fact

    @property
    def beside_first(self) -> ReportVerdict:
        """The verdict without the fact that read_first gives, for a text that has that fact and its
        step in a line of its own."""
        return replace(self, now=tuple(fact for fact in self.now if fact is not self.read_first))

    @property
    def statements(self) -> tuple[str, ...]:
        """The parts of the sentence, for a text that gives each a line: the worst fact or clause,
        then the other facts, and the other clauses as one text."""
        told = tuple(self._of_now())
        if told and not _is_of_losses(self.now[0]):
            return (*told, _in_one(self.clauses))
        rest = self.clauses[1:]
        return (_in_one(self.clauses[:1]), *told, *([_in_one(rest)] if rest else []))

    @property
    def sentence(self) -> str:
        """The headline and all clauses as one text. The clauses come first where they describe the
        worst fact, such as a loss: they give its times."""
        clauses = _in_one(self.clauses)
        if not self.headline:
            return clauses
        is_second = _is_of_losses(self.now[0])
        return f"{clauses} {self.headline}" if is_second else f"{self.headline} {clauses}"


def _in_one(clauses: Iterable[Clause]) -> str:
    """The clauses as one sentence."""
    return sentence("; ".join(clause.text for clause in clauses))


def _is_of_losses(fact: Fact) -> bool:
    return bool(TOLD_BY_LOSSES.intersection(fact.rules))


def verdict(facts: ReportFacts) -> ReportVerdict:
    """The verdict. It begins with what happened to the logs or, where nothing happened, with the
    logs as they are now."""
    happened = (
        *_conflicts(facts),
        *_losses(facts),
        *_commitment(facts.losses, lacks=_lacks_records(facts)),
    )
    now = tuple(_now(facts))
    logs = (happened, now) if facts.losses or len(happened) > 1 else (now, happened)
    clauses = (
        *logs[0],
        *_not_judged(facts),
        *_snapshots(facts.snapshots),
        *_damage(facts),
        *_not_known(facts),
        *_rules(facts.rules),
        *logs[1],
        *_unbuilt(facts.unbuilt),
    )
    levels = [*(fact.level for fact in facts.now), *(clause.level for clause in clauses)]
    return ReportVerdict(min(levels, key=lambda one: one.rank), clauses, facts.now)


def _conflicts(facts: ReportFacts) -> Iterator[Clause]:
    found = [parting for parting in facts.partings if parting.is_conflict]
    for parting in found[:_MAX_CONFLICTS]:
        sides = [facts.names.nodes(one.replicas, limit=5) for one in parting.branches]
        since = parting.since_ms
        when = "" if since is None else f"(written {ms_text(since)}) "
        yield Clause(
            Level.AT_RISK,
            f"from offset {parting.offset} on {when}{listed(sides)} hold different records under "
            f"one epoch ({parting.branches[0].epoch}), which no run of Raft leaves",
        )
    if len(found) > _MAX_CONFLICTS:
        yield Clause(Level.AT_RISK, f"{len(found) - _MAX_CONFLICTS} more conflicts")


def _losses(facts: ReportFacts) -> Iterator[Clause]:
    for loss in facts.losses[:MAX_LOSSES_TOLD]:
        yield Clause(_level(loss), _lost(loss, facts))
    left = facts.losses[MAX_LOSSES_TOLD:]
    if left:
        worst = min((_level(loss) for loss in left), key=lambda one: one.rank)
        yield Clause(worst, f"{len(left)} more cases of records lost, or to be lost")


def _level(loss: LostRecordCount) -> Level:
    if loss.committed:
        return Level.ATTENTION if loss.is_kept else Level.AT_RISK
    open_ = loss.unproven or loss.when is not When.GONE
    return Level.ATTENTION if open_ else Level.RECOVERED


def _lost(loss: LostRecordCount, facts: ReportFacts) -> str:
    one = len(loss.replicas) == 1
    who = facts.names.nodes(loss.replicas, limit=5)
    what = f"{_records(loss.records)} ({_where(loss)})"
    them = "it" if loss.records == 1 else "them"
    if loss.is_kept:
        return (
            f"the copy of {who} went back by {what}, of which {loss.committed} were committed: "
            "other nodes keep these"
        )
    known = loss.effect or Effect()
    if loss.superseded == loss.records:
        what += " that were never committed" if loss.records > 1 else " that was never committed"
        what += f", {IF_STOPPED}," if _rests_on_a_stop(loss, facts.now) else ""
        more = never_made_text(known)
        meaning = f": {more}" if more else ""
    else:
        told, more = made_text(known), unknown_text(known)
        tell = "tells" if loss.records == 1 else "tell"
        what += f", which {tell} of {told}," if told else ""
        meaning = f" ({more})" if more else ""
    if loss.when is When.GONE:
        has, between = "has" if one else "have", _between(loss, facts.rounds)
        return f"{who} held {what} and {has} discarded {them} {between}{meaning}"
    if loss.when is When.PENDING:
        verb = "holds" if one else "hold"
        return f"{who} {verb} {what} and will discard {them}{meaning}"
    what = what.removesuffix(",")
    return f"{who} held {what}, and no capture shows what became of {them}{meaning}"


def _rests_on_a_stop(loss: LostRecordCount, now: Iterable[Fact]) -> bool:
    """Whether check's verdict says that these records are lost only if replicas stay stopped."""
    where = f"(from offset {loss.first} on)"
    return loss.when is When.PENDING and any(
        IF_STOPPED in fact.text and where in fact.text for fact in now if _is_of_losses(fact)
    )


def _between(loss: LostRecordCount, rounds: Rounds) -> str:
    """The time of the last capture with the records, and of the first capture that shows them to be
    gone."""
    if loss.between is None:
        return "since"
    last, gone = loss.between
    if last is None:
        return f"before {rounds.short(gone)}"
    return f"between {rounds.short(last)} and {rounds.short(gone)}"


def _where(loss: LostRecordCount) -> str:
    """The offsets, epochs and times of the records. A truncated run has no gaps; other lost records
    may have gaps, so only their first offset is named."""
    if loss.when is When.GONE:
        where = span(loss.first, loss.first + loss.records)
    else:
        where = f"from offset {loss.first} on"
    where = f"{where}, {named('epoch', [str(one) for one in loss.epochs], limit=5)}"
    times = None if loss.effect is None else loss.effect.written_ms
    return where if times is None else f"{where}, written {ms_range_text(*times)}"


def _commitment(found: tuple[LostRecordCount, ...], *, lacks: bool) -> Iterator[Clause]:
    """How sure it is that no committed record was lost. lacks: whether a disk lacks records that
    its node had."""
    if not found:
        if not lacks:
            yield Clause(Level.HEALTHY, "no capture shows a node whose metadata log lost records")
        return
    committed = max(0 if loss.is_kept else loss.committed for loss in found)
    unproven = max(loss.unproven for loss in found)
    if committed:
        happened = any(loss.committed and loss.when is When.GONE for loss in found)
        verb = "were" if happened else "are"
        yield Clause(Level.AT_RISK, f"{committed} of them {verb} proven committed")
    if unproven:
        told = f"nothing here proves whether {unproven} of them were committed"
        yield Clause(Level.ATTENTION, told)
    if not committed and not unproven:
        is_open = all(loss.when is When.PENDING for loss in found)
        yield Clause(Level.HEALTHY, f"nothing committed {'would be' if is_open else 'was'} lost")


def _snapshots(counts: Mapping[str, int]) -> Iterator[Clause]:
    total = sum(counts.values())
    invalid, unverifiable = counts.get("invalid", 0), counts.get("unverifiable", 0)
    if not total:
        yield Clause(Level.HEALTHY, "there are no snapshots")
    if invalid:
        verb = "is" if invalid == 1 else "are"
        yield Clause(Level.ATTENTION, f"{invalid} of {counted(total, 'snapshot')} {verb} invalid")
    if unverifiable:
        told = f"{unverifiable} of {counted(total, 'snapshot')} can't be verified"
        yield Clause(Level.INCOMPLETE, told)
    if total and not invalid and not unverifiable:
        valid = "the only snapshot is valid" if total == 1 else f"all {total} snapshots are valid"
        yield Clause(Level.HEALTHY, valid)


def _damage(facts: ReportFacts) -> Iterator[Clause]:
    if facts.damage:
        # the findings tell how bad the damage is: a torn tail, for example, Kafka itself cuts off
        kinds = listed(facts.kinds, limit=3)
        yield Clause(Level.HEALTHY, f"{counted(facts.damage, 'place')} could not be read ({kinds})")


def _not_known(facts: ReportFacts) -> Iterator[Clause]:
    """A clause where the known state ends at the first record that this release doesn't know."""
    is_newer = any(one.id in NOT_KNOWN and one.now for one in facts.rules)
    if is_newer and facts.known_to is not None and facts.known_to < facts.end_offset:
        yield Clause(
            Level.ATTENTION,
            f"the metadata state from offset {facts.known_to} on is not known to this release, "
            f"which reads up to Kafka {NEWEST_KAFKA}: the log holds newer records",
        )


def _not_judged(facts: ReportFacts) -> Iterator[Clause]:
    """What can't be judged by the newest captures, as the gaps of check's verdict."""
    for gap in facts.not_judged:
        yield Clause(Level.INCOMPLETE, f"{gap.what} can't be judged, because {gap.why}")


def _rules(rules: Iterable[RuleCount]) -> Iterator[Clause]:
    """The findings that no other clause describes."""
    others = [one for one in rules if one.id not in TOLD_BY_LOSSES]
    for severity in ("error", "warning"):
        now = [one for one in others if one.severity == severity and one.now]
        if now:
            count = counted(sum(one.now for one in now), severity)
            level = Level.AT_RISK if any(one.id in AT_RISK for one in now) else Level.ATTENTION
            yield Clause(level, f"{count} in the newest captures ({_named(now)})")
        before = [one for one in others if one.severity == severity and not one.now]
        if before:
            count = counted(sum(one.findings for one in before), severity)
            yield Clause(
                Level.ATTENTION if severity == "error" else Level.RECOVERED,
                f"{count} in earlier captures only ({_named(before)})",
            )


def _lacks_records(facts: ReportFacts) -> bool:
    """Whether a finding of any capture is about a disk that lacks records that its node had."""
    return any(one.id in OLD_DISKS for one in facts.rules) or any(
        not OLD_DISKS.isdisjoint(fact.rules) for fact in facts.now
    )


def _named(rules: list[RuleCount]) -> str:
    return listed([one.id for one in rules], limit=3)


def _now(facts: ReportFacts) -> Iterator[Clause]:
    pairs, newest = facts.relations, "in the newest captures"
    written = facts.end_written_ms
    at = "" if written is None else f", written {ms_text(written)}"
    logs = f"the metadata logs of all {counted(facts.members, 'node')}"
    if not pairs:
        alone = f"{newest} there is one node, and nothing to compare its metadata log with"
        yield Clause(Level.HEALTHY, alone)
    elif "diverged" in pairs or "conflict" in pairs:
        yield Clause(Level.ATTENTION, f"{newest} the metadata logs of the nodes don't agree")
    elif "disjoint" in pairs:
        apart = counted(pairs["disjoint"], "pair")
        have = "have" if pairs["disjoint"] == 1 else "each have"
        yield Clause(
            Level.ATTENTION,
            f"{newest} the metadata logs of {apart} of nodes {have} no offset in common",
        )
    elif "prefix" in pairs:
        how = "as far as each has come"
        if _lacks_records(facts):
            how = "wherever two hold the same offset"
        yield Clause(
            Level.HEALTHY, f"{newest} {logs} agree {how} (to offset {facts.end_offset - 1}{at})"
        )
    else:
        last = facts.end_offset - 1
        yield Clause(Level.HEALTHY, f"{newest} {logs} are the same up to offset {last}{at}")


def _unbuilt(captures: int) -> Iterator[Clause]:
    if captures:
        what = f"{counted(captures, 'capture')} {'is' if captures == 1 else 'are'}"
        yield Clause(Level.ATTENTION, f"{what} not in the tables yet: run `kraftlake build`")
