"""Some voters can't be counted, because they are down or behind, or because their disks lack what
they had. This module adds to the facts about them which of the other voters the quorum now
needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from replica.doctor.check.catalogue import health
from replica.doctor.verdict.evidence import ClusterEvidence, PlacedFinding
from replica.doctor.verdict.old_disks import OLD_DISKS
from replica.doctor.verdict.verdict import Fact
from replica.model.voters import majority
from replica.words import named

_RULES = OLD_DISKS | {health.VOTER_ON_FENCED_BROKER.id}
"""The rules about voters that are behind or down, or whose disks lack what they had."""


class QuorumMargin(NamedTuple):
    """The voters that the quorum can still count on.

    voters: the ids of all voters, such as `2`.
    countable: the ids of the voters without a finding that doubts their disk, and without a fenced
        broker on their node.
    """

    voters: tuple[str, ...]
    countable: tuple[str, ...]

    @staticmethod
    def of(evidence: ClusterEvidence) -> QuorumMargin:
        down = {
            subject.name.removeprefix("voter ")
            for finding in evidence.health or ()
            if finding.rule is health.VOTER_ON_FENCED_BROKER
            for subject in finding.subjects
        }
        return QuorumMargin(evidence.voters, tuple(v for v in evidence.reliable if v not in down))

    def added_to(self, facts: Iterable[Fact], findings: Iterable[PlacedFinding]) -> Iterator[Fact]:
        """The facts. If just a majority can be counted on, the facts about the other voters also
        say that the quorum stops when one more voter stops. findings: those about files."""
        behind = {one.where for one in findings if one.finding.rule.id in OLD_DISKS}
        left = [one for one in self.countable if f"node {one}" not in behind]
        is_just = len(left) == majority(len(self.voters)) < len(self.voters)
        for fact in facts:
            if is_just and not _RULES.isdisjoint(fact.rules):
                nodes = named("node", left)
                text = (
                    f"{fact.text} While only {nodes} run and are caught up, the quorum stops when "
                    "one of them stops."
                )
                yield replace(fact, text=text)
            else:
                yield fact
