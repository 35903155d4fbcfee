"""Adds to facts about voters that don't count the margin of the quorum: which other voters it needs
meanwhile."""

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
    """The voters, such as `2`, and those of them that no doubt about a disk and no fenced broker
    takes away."""

    voters: tuple[str, ...]
    left: tuple[str, ...]

    @staticmethod
    def of(evidence: ClusterEvidence) -> QuorumMargin:
        down = {
            subject.name.removeprefix("voter ")
            for finding in evidence.health or ()
            if finding.rule is health.VOTER_ON_FENCED_BROKER
            for subject in finding.subjects
        }
        return QuorumMargin(evidence.voters, tuple(v for v in evidence.left if v not in down))

    def told(self, facts: Iterable[Fact], findings: Iterable[PlacedFinding]) -> Iterator[Fact]:
        """The facts, with the margin where the voters that are left are just a majority. findings:
        those about files."""
        behind = {one.where for one in findings if one.finding.rule.id in OLD_DISKS}
        left = [one for one in self.left if f"node {one}" not in behind]
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
