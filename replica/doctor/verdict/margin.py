"""Some voters can't be counted, because they are down or behind, or because their disks lack what
they had. This module says what that means for the quorum: whether a majority is left, which of the
other voters it now needs, and whether the voters that lack records can elect a leader."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from replica.doctor.check.catalogue import groups, health, log
from replica.doctor.quorum.conditions import NewestLogs
from replica.doctor.verdict.evidence import ClusterEvidence, PlacedFinding
from replica.doctor.verdict.old_disks import OLD_DISKS
from replica.doctor.verdict.verdict import Fact, Level
from replica.doctor.verdict.without_winner import is_without_leader
from replica.model.voters import is_blocking, majority
from replica.severity import Severity
from replica.words import listed, named, sentence

_RULES = OLD_DISKS | {health.VOTER_ON_FENCED_BROKER.id}
"""The rules about voters that are behind or down, or whose disks lack what they had."""

_JOIN_AGAIN = OLD_DISKS - {groups.VOTER_DISK_EMPTY.id, groups.VOTER_BEHIND.id}
"""The rules whose next step lets a voter join again, which takes a majority of the others."""
_LOOK_FOR = "Keep the node stopped, and look for the disk on which it ran, or a newer copy of it."


class QuorumMargin(NamedTuple):
    """The voters that the quorum can still count on.

    voters: the ids of all voters, such as `2`.
    countable: the ids of the voters without a finding that doubts their disk, and without a fenced
        broker on their node.
    is_lost: whether disks are unreliable, and the voters with reliable disks are no majority.
    end_ms: the time of the newest record, in ms since 1970 (UTC), if the logs of all voters were
        given; else None.
    unseen: the ids of the voters for whose nodes no directory was given; empty if some of these
        nodes have other disks than their voters.
    """

    voters: tuple[str, ...]
    countable: tuple[str, ...]
    is_lost: bool = False
    end_ms: int | None = None
    unseen: tuple[str, ...] = ()

    @staticmethod
    def of(evidence: ClusterEvidence) -> QuorumMargin:
        down = {
            subject.name.removeprefix("voter ")
            for finding in evidence.health or ()
            if finding.rule is health.VOTER_ON_FENCED_BROKER
            for subject in finding.subjects
        }
        countable = tuple(one for one in evidence.reliable if one not in down)
        is_lost = len(evidence.reliable) < majority(len(evidence.voters))
        missing = evidence.missing
        is_whole = missing is None or not missing.missing
        end_ms = evidence.state.at_ms if is_whole and evidence.state is not None else None
        absent = () if missing is None else sorted(one.node_id for one in missing.missing)
        others = frozenset() if missing is None else missing.given | missing.without_log
        unseen = tuple(map(str, absent)) if others.isdisjoint(absent) else ()
        return QuorumMargin(
            evidence.voters, countable, bool(evidence.unreliable) and is_lost, end_ms, unseen
        )

    def added_to(self, facts: Iterable[Fact], findings: Iterable[PlacedFinding]) -> Iterator[Fact]:
        """The facts. If just a majority can be counted on, the facts about the other voters also
        say that the quorum stops when one more voter stops, and which node starts first if one has
        stopped since. If no majority is left, no voter can join again. findings: those about
        files."""
        findings = tuple(findings)
        behind = _behind(findings)
        left = [one for one in self.countable if f"node {one}" not in behind]
        is_just = len(left) == majority(len(self.voters)) < len(self.voters)
        facts = (*_with_torn(facts, findings),)
        is_led = not any(map(is_without_leader, facts))
        is_just = is_just and is_led
        third = self._third_vote(behind) if is_led else ""
        for fact in facts:
            if third and groups.VOTER_BEHIND.id in fact.rules:
                fact, third = replace(fact, next_step=f"{third} {fact.next_step}"), ""
            if self.is_lost and not _JOIN_AGAIN.isdisjoint(fact.rules):
                node = fact.next_step.partition(": ")[0]
                yield replace(fact, next_step=f"{node}: {_LOOK_FOR}")
                continue
            if is_just and not _RULES.isdisjoint(fact.rules):
                nodes = named("node", left)
                text = (
                    f"{fact.text} While only {nodes} run and are caught up, the quorum stops when "
                    "one of them stops."
                )
                yield replace(fact, text=text, next_step=self._newest_first(fact, left))
            else:
                yield fact

    def _third_vote(self, behind: Collection[str]) -> str:
        """What to do if the voters that nobody has seen don't run: without them there may be no
        leader, while voters that are behind make a majority with the others. "" where that isn't
        so. behind: see _behind."""
        seen = [one for one in self.voters if one not in self.unseen]
        late = [one for one in seen if f"node {one}" in behind]
        others = [one for one in seen if one in self.countable and one not in late]
        needed = majority(len(self.voters)) - len(others)
        if not (self.unseen and others and 0 < needed <= len(late)) or self.is_lost:
            return ""
        run = "doesn't run" if len(self.unseen) == 1 else "don't run"
        which = named("node", late)
        if needed < len(late):
            which = f"{'one' if needed == 1 else needed} of {which}"
        disks, make = ("its own disk", "makes") if needed == 1 else ("their own disks", "make")
        return (
            f"If {named('node', self.unseen)} {run} either, there is no leader now: {which}, "
            f"started with {disks}, {make} a majority with {named('node', others)}. Do not format "
            f"or wipe {'its disk' if len(late) == 1 else 'their disks'}."
        )

    def _newest_first(self, fact: Fact, left: Sequence[str]) -> str:
        """The step about a voter that is behind. No log shows that its leader was killed: so the
        step begins with the start of the nodes that have the newest logs, if one of them has
        stopped since."""
        if groups.VOTER_BEHIND.id not in fact.rules or self.end_ms is None:
            return fact.next_step
        newest = NewestLogs(tuple(map(int, left)), self.end_ms)
        return f"{newest.text} Format no node. {fact.next_step}"


def _with_torn(facts: Iterable[Fact], findings: Sequence[PlacedFinding]) -> Iterator[Fact]:
    """The facts. The step that starts voters also says what to do first with those whose logs end
    inside a batch, as after a full disk: they stopped while they wrote. A node that runs may have
    been copied while it wrote: so only voters that are behind count."""
    torn = {one.where for one in findings if one.finding.rule is log.TORN_TAIL}
    nodes = sorted(
        {one.where for one in findings if one.finding.rule is groups.VOTER_BEHIND} & torn
    )
    for fact in facts:
        if nodes and (is_without_leader(fact) or groups.VOTER_BEHIND.id in fact.rules):
            ids = [one.removeprefix("node ") for one in nodes]
            which = sentence(named("node", ids)).removesuffix(".")
            its, disk = ("its log ends", "disk") if len(ids) == 1 else ("their logs end", "disks")
            nodes = []
            fact = replace(
                fact,
                next_step=f"{fact.next_step} {which}: {its} inside a batch, as after a full disk "
                f"or a power cut. Before the start free space on the {disk}, but delete nothing in "
                "__cluster_metadata-0: Kafka cuts off the batch itself.",
            )
        yield fact


def majority_facts(evidence: ClusterEvidence) -> Iterator[Fact]:
    """Facts about voters that don't count, because their disks are unreliable or were replaced.
    There are such facts if the voters that are left are no majority and, for replaced disks, also
    if they are just a majority. Without a majority, committed records may be only on unreliable
    disks, whatever the missing disks hold."""
    left, needed = evidence.reliable, majority(len(evidence.voters))
    none = f"the voters that are left are no majority ({len(left)} of {len(evidence.voters)})"
    if len(evidence.voters) == 1:
        none = "it is the only voter"
    if evidence.unreliable and len(left) < needed:
        risk = "committed records may be lost"
        if left and is_blocking(len(left), len(evidence.voters)):
            # half of the voters keep all that was committed, but the disks in doubt may vote twice
            risk = "they elect nobody without one more voter, on its own whole disk"
        yield Fact(
            Level.AT_RISK,
            Severity.WARNING,
            f"{_unreliable(evidence)}, and {none}: {risk}.",
            "Start no controller that is stopped, and keep a copy of each directory. `kraftlake "
            "recover --plan` says how the quorum can go on.",
        )
    yield from _outvoted(evidence)
    if not evidence.replaced or len(left) > needed:
        return
    disks = (
        "doesn't count with the disk that its node has"
        if len(evidence.replaced) == 1
        else "don't count with the disks that their nodes have"
    )
    told = sentence(f"{named('voter', evidence.replaced)} {disks}").removesuffix(".")
    if len(left) < needed:
        yield Fact(
            Level.OUTAGE,
            Severity.ERROR,
            f"{told}, and {none}: the quorum elects no leader.",
            "Give these nodes their own disks. `kraftlake recover --plan` says how the quorum can "
            "go on without them.",
        )
        return
    yield Fact(
        Level.ATTENTION,
        Severity.WARNING,
        f"{told}: the quorum needs each of the other voters ({listed(left)}), and stops "
        "when one of them stops.",
        f"Keep the other voters ({listed(left)}) running. `kraftlake recover --plan` says how "
        f"{named('voter', evidence.replaced)} is made to count again.",
    )


def _outvoted(evidence: ClusterEvidence) -> Iterator[Fact]:
    """The fact that a majority of the voters may elect a leader without the newest records: voters
    that are behind, with the votes of voters whose disks are unreliable. Voters that are only
    behind are no danger, because a majority holds each committed record."""
    behind = [one for one in evidence.reliable if f"node {one}" in _behind(evidence.findings)]
    votes, needed = len(behind) + len(evidence.unreliable), majority(len(evidence.voters))
    if not (evidence.unreliable and behind) or votes < needed:
        return
    if len(evidence.reliable) < needed:  # which is said already
        return
    lack = "lacks" if len(behind) == 1 else "lack"
    yield Fact(
        Level.AT_RISK,
        Severity.WARNING,
        f"{_unreliable(evidence)}, and {named('voter', behind)} {lack} the newest records: "
        f"together they are {votes} of {len(evidence.voters)} voters, and may elect a leader that "
        "lacks committed records.",
        f"Keep {named('node', evidence.unreliable)} stopped, and keep a copy of each directory. "
        "`kraftlake recover --plan` says in which order to start, and how such a node joins again.",
    )


def _unreliable(evidence: ClusterEvidence) -> str:
    disks = "disk of voter" if len(evidence.unreliable) == 1 else "disks of voters"
    return f"The {disks} {listed(evidence.unreliable)} can't be relied on"


def _behind(findings: Iterable[PlacedFinding]) -> frozenset[str]:
    """The nodes, such as `node 2`, whose logs are behind or lack what they had."""
    return frozenset(one.where for one in findings if one.finding.rule.id in OLD_DISKS)
