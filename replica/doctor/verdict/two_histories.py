"""What the verdict says where logs conflict: facts about a state that may be the wrong one, and the
folders of partitions that have to be copied before any node is started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from replica.doctor.check.catalogue import groups
from replica.doctor.health.set_aside import SetAside, set_aside_text
from replica.doctor.verdict.verdict import Fact, KnownState, Level


def of_one_history(fact: Fact, state: KnownState | None) -> Fact:
    """The fact about the state, with the words that the state may be that of the wrong one of two
    histories, and without a step: nobody may start a node before a history is chosen."""
    source = state.source if state is not None and state.source else "one node"
    text = f"By the log of {source}, which may hold the wrong history: {fact.text}"
    return replace(fact, text=text, next_step="")


def kept_apart(fact: Fact) -> Fact:
    """The fact about records that logs lose, with a step that says to start no node: where logs
    conflict, a start isn't safe even after the directories were copied. A fact without a step stays
    as it is."""
    if not fact.next_step:
        return fact
    step = "Start none of these nodes before a history is chosen, after a copy either."
    return replace(fact, next_step=step)


def with_evidence(
    facts: Iterable[Fact], folders: Sequence[SetAside], put_back: str
) -> Iterator[Fact]:
    """The facts. The fact about the conflict also says which history was there first, and what
    becomes of the folders that were set aside. Beside it, a fact that can wait has no step: nobody
    may start a node before a history is chosen.

    folders, put_back: see ClusterEvidence.set_aside and ClusterEvidence.put_back.
    """
    facts = [*facts]
    has_conflict = any(groups.CONFLICT.id in fact.rules for fact in facts)
    for fact in facts:
        if has_conflict and fact.level is Level.ATTENTION:
            fact = replace(fact, next_step="")
        elif groups.CONFLICT.id in fact.rules:
            step = f"{fact.next_step} {set_aside_text(folders)}".rstrip()
            fact = replace(fact, text=f"{fact.text} {put_back}".rstrip(), next_step=step)
        yield fact
