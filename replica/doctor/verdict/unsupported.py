"""Texts about releases of Kafka: which can start, and which nodes were put back to one that can't
read a finalized level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding
from replica.doctor.health.unsupported import needed_by
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.outage import MAY_LACK_LEADER
from replica.doctor.verdict.verdict import Fact
from replica.words import listed, sentence

_NODES_DOWN = MAY_LACK_LEADER | {
    health.FENCED_BROKER.id, health.UNREGISTERED_BROKER.id, health.VOTER_ON_FENCED_BROKER.id,
}  # fmt: skip
"""The rules about nodes that are down."""
_SHOWN = 3


def unsupported_texts(finding: Finding) -> tuple[str, str]:
    """(text, next step) of the fact about nodes that don't support a level."""
    told = [f"{one.name} {one.what}" for one in finding.subjects]
    is_one = len(told) == 1
    ends = "it ends" if is_one else "they end"
    names = listed([one.name for one in finding.subjects], limit=_SHOWN)
    then = "then start it with its own disk" if is_one else "then start them with their own disks"
    return (
        f"{sentence(listed(told, limit=_SHOWN)).removesuffix('.')}: {ends} soon after each start.",
        f"Give {names} {needed_by(finding)}, {then}. Format nothing: a node formatted anew is no "
        "voter.",
    )


def with_unsupported(facts: Iterable[Fact], found: Iterable[Finding]) -> Iterator[Fact]:
    """The facts about outages. The first that is about the quorum's leader also says which
    controllers can't start with their release: their start would bring no leader."""
    known = [one for one in found if one.rule is health.LEVEL_NOT_SUPPORTED]
    of = [one for one in known if any("controller" in sub.name for sub in one.subjects)]
    for fact in facts:
        if of and not MAY_LACK_LEADER.isdisjoint(fact.rules):
            text, step = unsupported_texts(of.pop())
            fact = replace(
                fact,
                text=f"{fact.text} {text}",
                next_step=f"{step} {fact.next_step}".strip(),
                rules=(*fact.rules, health.LEVEL_NOT_SUPPORTED.id),
            )
        yield fact


def with_releases(
    facts: Iterable[Fact], evidence: ClusterEvidence, before: Sequence[Fact] = ()
) -> Iterator[Fact]:
    """The facts. The first of them about nodes that are down also says which releases can start.
    before: facts that may have said so."""
    releases = evidence.releases
    is_said = not releases or any(releases in one.text for one in before)
    for fact in facts:
        if not is_said and not _NODES_DOWN.isdisjoint(fact.rules):
            is_said = True
            fact = replace(fact, text=f"{fact.text} {releases}")
        yield fact
