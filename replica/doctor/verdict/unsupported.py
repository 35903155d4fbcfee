"""Texts about nodes that were put back to a release of Kafka which can't read a finalized level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from replica.doctor.check.catalogue import files, health, log
from replica.doctor.check.rule import Finding
from replica.doctor.health.unsupported import needed_by
from replica.doctor.verdict.verdict import Fact
from replica.words import listed, sentence

_QUORUM = frozenset(
    {
        health.LEADER_GAVE_UP.id, health.MAJORITY_STOPPED.id,
        files.ELECTIONS_WITHOUT_WINNER.id, log.ENDLESS_ELECTIONS.id,
    }
)  # fmt: skip
"""The rules about a quorum that has no leader, or perhaps none."""
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
        if of and not _QUORUM.isdisjoint(fact.rules):
            text, step = unsupported_texts(of.pop())
            fact = replace(
                fact,
                text=f"{fact.text} {text}",
                next_step=f"{step} {fact.next_step}".strip(),
                rules=(*fact.rules, health.LEVEL_NOT_SUPPORTED.id),
            )
        yield fact
