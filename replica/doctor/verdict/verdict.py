"""Defines the verdict on a cluster, and decides it by facts and by what could not be judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from replica.doctor.check.catalogue import groups
from replica.doctor.verdict.runbooks import runbook_of
from replica.doctor.verdict.start_of_voters import StartOfVoters
from replica.model.voters import VoterKeys
from replica.severity import Severity
from replica.words import ms_text, named


class Level(StrEnum):
    """What a verdict means for a person, the worst first. The values are part of --json."""

    OUTAGE = "outage"
    """Users notice the problem: partitions can't be read or written, or changes are not
    accepted."""
    AT_RISK = "at-risk"
    """Nobody notices the problem yet, but the next step may lose committed data: change nothing."""
    ATTENTION = "attention"
    """Something is wrong, and somebody has to look after it."""
    INCOMPLETE = "incomplete"
    """Nothing wrong was found, but not everything could be judged."""
    RECOVERED = "recovered"
    """A problem is over, and no committed record was lost. Only several captures show this."""
    HEALTHY = "healthy"
    """Everything was judged, and nothing is wrong."""

    @property
    def rank(self) -> int:
        """The level as a number to sort by: 0 for the worst."""
        return tuple(Level).index(self)

    @property
    def shown(self) -> str:
        """The level as the first word of a text."""
        return self.replace("-", " ").upper()


OF_OTHER_CLUSTERS = (
    groups.DISK_OF_ANOTHER_CLUSTER.id, groups.VOTER_WITHOUT_OWN_DISK.id,
    groups.CLUSTER_IDS_DIFFER.id, groups.CLUSTER_ID_MISMATCH.id,
)  # fmt: skip
"""The rules about the disks of several clusters. Their findings come before all other findings,
because any other step may change the wrong disk."""
LEVELS_OF_NEWEST = tuple(level for level in Level if level is not Level.RECOVERED)
"""The possible levels of a verdict on only the newest captures, the worst first."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is wrong, or that an operator should know."""

    level: Level
    severity: Severity
    text: str
    """The fact in whole sentences."""
    next_step: str = ""
    """What an operator should do about the fact; "" if no action is needed."""
    rules: tuple[str, ...] = ()
    """The ids of the rules of `check` that found the fact; empty without a rule."""
    once_led: str = field(default="", compare=False)
    """The next step of an outage once the quorum has a leader and the log directories that have to
    be copied were copied; "" for other facts."""

    start: StartOfVoters | None = field(default=None, compare=False)
    """The voters that the next step starts; None where it starts none."""
    down: frozenset[int] = field(default=frozenset(), compare=False)
    """The nodes that are down by this fact, or reach no voter that runs: see NoLeader.down."""

    @property
    def is_of_other_clusters(self) -> bool:
        """Whether the fact is about disks of several clusters."""
        return not set(self.rules).isdisjoint(OF_OTHER_CLUSTERS)

    @property
    def first(self) -> str:
        """What to do first about the fact, as a clause; "" if it has no step."""
        if self.start is not None and self.start.may_run:
            return self.start.clause
        first = self.next_step.partition(". ")[0].removesuffix(".")
        return f"{first[:1].lower()}{first[1:]}"

    @property
    def with_step(self) -> str:
        """The text, and after it what to do."""
        return f"{self.text} {self.next_step}".rstrip()


NO_LEADER_YET = "the logs hold no record: no voter was ever elected"
NO_RECORD_HERE = "no log that was given holds a record: its node never followed a leader"
NO_VOTERS_NAMED = "no log that was given holds a record, and no file names the voters"
_MAY_BE_NEW = (NO_LEADER_YET, NO_RECORD_HERE, NO_VOTERS_NAMED)
"""Why the state of a quorum that may never have had a leader can't be judged."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be judged."""

    what: str
    """What could not be judged, beginning with a small letter, such as `the log of voter 2`."""
    why: str
    """The reason as a clause, such as `its directory was not given`."""
    next_step: str = ""
    """A whole sentence that says how to close the gap; "" if the gap can't be closed."""


@dataclass(frozen=True, slots=True)
class MissingVoters:
    """Voters for which no directory of their own cluster was given."""

    missing: VoterKeys
    voters: int
    """The number of all voters."""
    given: frozenset[int]
    """The nodes whose directories of this cluster were given. A missing voter of such a node is
    named with its directory id."""
    without_log: frozenset[int] = frozenset()
    """The nodes for which a directory without a metadata log was given."""

    @property
    def absent(self) -> VoterKeys:
        """The voters for whose nodes no directory at all was given."""
        return frozenset(one for one in self.missing if one.node_id not in self.without_log)

    def gaps(self, *, is_mixed: bool) -> Iterator[Gap]:
        """The gaps of the missing voters. is_mixed: whether directories of another cluster were
        given in place of some voters' directories."""
        if self.absent:
            yield self._not_given(is_mixed=is_mixed)
        empty = sorted(self.missing - self.absent)
        if empty:
            nodes = named("node", [str(voter.node_id) for voter in empty])
            whose = "its directory holds" if len(empty) == 1 else "their directories hold"
            yield Gap(
                f"{len(empty)} of {self.voters} voters ({nodes})",
                f"{whose} no metadata log",
                f"If {nodes} ran on another disk, add the directory of that disk.",
            )

    def _not_given(self, *, is_mixed: bool) -> Gap:
        names = [
            f"{voter.node_id} (directory {voter.directory_id})"
            if voter.node_id in self.given
            else str(voter.node_id)
            for voter in sorted(self.absent)
        ]
        one = len(names) == 1
        why = f"{'its directory was' if one else 'their directories were'} not given"
        if is_mixed:
            why = f"no directory of this cluster was given for {'it' if one else 'them'}"
        readable = f", if {'its disk' if one else 'their disks'} can still be read"
        which = f"{'directory' if one else 'directories'} of {named('node', names)}"
        if is_mixed:
            which += " in this cluster"
        return Gap(
            f"{len(names)} of {self.voters} voters ({named('node', names)})",
            why,
            f"Add the {which}{readable}: divergence shows only when logs are compared.",
        )


@dataclass(frozen=True, slots=True)
class KnownState:
    """The newest known state of the cluster."""

    end_offset: int
    """The end of the state, exclusive."""
    at_ms: int | None = None
    """The time of the state's last record, in ms since 1970 (UTC); None if no record has a time."""
    source: str = ""
    """The source of the state, such as `node 1`; "" if the source is unknown."""
    beyond_voters: str = ""
    """A text about the records that only observers' copies of the log hold; "" if a given voter's
    log has them, too. If there are two histories, this text says where the other history ends."""

    @property
    def text(self) -> str:
        """A text such as `2026-11-21 05:57:13 UTC, offset 1635 of node 1`."""
        last = f"offset {self.end_offset - 1}" if self.end_offset else "before the first record"
        where = f"{last} of {self.source}" if self.source else last
        told = ", ".join(part for part in (ms_text(self.at_ms), where) if part)
        return f"{told}. {self.beyond_voters}" if self.beyond_voters else told


class Besides(NamedTuple):
    """The facts of a verdict besides the first, and without those about disks of several clusters,
    which stand above all others."""

    weighty: tuple[Fact, ...]
    """The facts that every text of the verdict has: what may lose committed data, each outage, and
    the weightiest of the other facts."""
    others: tuple[Fact, ...]
    """The facts that a short text only counts. There is never just one: a line that counts it would
    take as much place as the fact (see shown_of)."""


def read_first(facts: Sequence[Fact]) -> Fact | None:
    """The fact besides the first one that warns of the loss of committed data. Such a loss can't be
    undone: what to do about it has to be read before any other step. None if no fact warns of it,
    or if the first fact does. Facts about disks of several clusters are left out. facts: the facts
    of a verdict, in its order."""
    if not facts or facts[0].level is Level.AT_RISK:
        return None
    weighty = facts_besides(facts).weighty
    return next((fact for fact in weighty if fact.level is Level.AT_RISK), None)


def facts_besides(facts: Sequence[Fact]) -> Besides:
    """The facts besides the first one, without those about disks of several clusters. facts: the
    facts of a verdict, in its order."""
    rest = [fact for fact in facts[1:] if not fact.is_of_other_clusters]
    at_risk = [fact for fact in rest if fact.level is Level.AT_RISK]
    outages = [fact for fact in rest if fact.level is Level.OUTAGE]
    less = [fact for fact in rest if fact.level.rank > Level.AT_RISK.rank]
    shown = shown_of(len(less), 1)
    return Besides((*at_risk, *outages, *less[:shown]), tuple(less[shown:]))


def shown_of(count: int, most: int) -> int:
    """How many of `count` lines to show, if at most `most` are shown and one more line says how
    many are left out. A single line is never left out: the line that says so would take as much
    place."""
    return count if count - most == 1 else min(count, most)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one cluster."""

    cluster_id: str | None
    """The cluster's id; None if no file names it."""
    level: Level
    headline: str
    """The text of the first fact; without facts, a sentence that says what could not be judged, or
    that nothing is wrong."""
    facts: tuple[Fact, ...]
    """The facts, the most important first."""
    next_steps: tuple[str, ...]
    """What to do, in this order."""
    not_judged: tuple[Gap, ...]
    """What could not be judged."""
    notes: int
    """The number of findings that need no action."""
    state: KnownState | None
    """The newest known state; None if no state is known."""

    @property
    def runbook(self) -> str | None:
        """The name of the runbook with more details than the steps; None if there is no runbook."""
        of_facts = runbook_of_facts(self.facts)
        is_new = any(one.why in _MAY_BE_NEW for one in self.not_judged)
        return of_facts or ("never-came-up" if is_new else None)

    @property
    def start(self) -> StartOfVoters | None:
        """The voters that start so that the quorum has a leader again; None where the verdict
        starts none."""
        return next((fact.start for fact in self.facts if fact.start is not None), None)

    @property
    def of_other_clusters(self) -> tuple[Fact, ...]:
        """The facts about disks of several clusters."""
        return tuple(one for one in self.facts if one.is_of_other_clusters)

    @property
    def read_first(self) -> Fact | None:
        """The fact that has to be read before all others, by the function `read_first`; None if
        there is none."""
        return read_first(self.facts)

    @property
    def besides(self) -> Besides:
        """The facts of the verdict besides the first, in the parts of Besides."""
        return facts_besides(self.facts)


def runbook_of_facts(facts: Sequence[Fact]) -> str | None:
    """The runbook for the facts of the levels OUTAGE and AT_RISK; where no runbook is about these,
    the runbook for all facts. None where there is no runbook."""
    grave = [one for one in facts if one.level in (Level.OUTAGE, Level.AT_RISK)]
    found = (runbook_of({rule for one in of for rule in one.rules}) for of in (grave, facts))
    return next(filter(None, found), None)


def decide(
    cluster_id: str | None,
    facts: Iterable[Fact],
    gaps: Iterable[Gap],
    *,
    well: str,
    notes: int = 0,
    state: KnownState | None = None,
) -> Verdict:
    """The verdict by these facts and gaps.

    Facts are sorted by level and severity, with facts that need an action first; the sort is
    stable. Steps against a loss of data come first, because no other step can undo a loss. If no
    fact has a step, the verdict's steps are those that close gaps.

    well: the headline if nothing is wrong and nothing is missing.
    notes: the number of findings that need no action.
    state: the newest known state; None if no state is known.
    """
    ordered = tuple(sorted(facts, key=_weight))
    missing = tuple(gaps)
    if ordered:
        level, headline = ordered[0].level, ordered[0].text
    elif missing:
        level, headline = Level.INCOMPLETE, _incomplete(missing)
    else:
        level, headline = Level.HEALTHY, well
    careful = sorted(ordered, key=lambda fact: fact.level is not Level.AT_RISK)
    steps = [fact.next_step for fact in careful if fact.next_step]
    if not steps:
        # what closes a gap mends nothing: it stands beside the gap where there is more to do
        steps = [gap.next_step for gap in missing]
    return Verdict(
        cluster_id,
        level,
        headline,
        ordered,
        tuple(dict.fromkeys(step for step in steps if step)),
        missing,
        notes,
        state,
    )


def _weight(fact: Fact) -> tuple[int, int, bool]:
    return fact.level.rank, fact.severity.rank, not fact.next_step


def worst(verdicts: Iterable[Verdict]) -> Level | None:
    """The worst level; None without a verdict."""
    return min((one.level for one in verdicts), key=lambda level: level.rank, default=None)


def _incomplete(gaps: tuple[Gap, ...]) -> str:
    first, rest = gaps[0], len(gaps) - 1
    more = f", and {rest} more" if rest else ""
    return f"No fault found in what was given. Not judged: {first.what}{more}."
