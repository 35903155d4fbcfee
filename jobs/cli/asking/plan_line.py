"""The answer of `kraftlake plan` about one change in one line: the answer, the gravest reason, and
what to do first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replica.doctor.preflight.answer import ChangeSafety, Preflight, Reason
from replica.doctor.preflight.stopping import PARTITIONS
from replica.words import counted, sentence

_VERBS = ("is", "has", "had", "was", "would", "can't", "refuses", "supports", "lacks")
"""A reason's detail that begins with one of these words follows its subject without a colon,
because both form one sentence."""


def answer_of(judged: Preflight) -> str:
    """The answer in capitals, such as `SAFE, if its needs hold`."""
    answer = judged.answer.value.upper().replace("-", " ")
    return f"{answer}, if its needs hold" if judged.is_conditional else answer


def plan_line(judged: Preflight) -> str:
    """The answer about one change as one line. It ends with the first step before the change, if
    there is one."""
    told = [f"{answer_of(judged)}: {judged.action}: {_why(judged)}", *_first(judged.first)]
    return " ".join(map(sentence, told))


def _why(judged: Preflight) -> str:
    if judged.is_conditional:
        return _and_more(judged.needs, "need")
    against = [one for one in judged.reasons if one.answer is judged.answer]
    of_all = [one for one in against if not one.is_of_partition]
    if any(one.subject == PARTITIONS for one in of_all):
        against = of_all  # it counts the partitions
    if not against:
        return "the state shows no reason against it"
    if judged.answer is ChangeSafety.SAFE:
        return _said(against[0])
    return _and_more([_said(one) for one in against], "reason")


def _said(reason: Reason) -> str:
    if reason.subject == PARTITIONS and reason.detail[:1].isdigit():
        return reason.detail
    said = reason.detail.partition(". ")[0].rstrip(".")
    joined = " " if said.partition(" ")[0] in _VERBS else ": "
    return f"{reason.subject}{joined}{said}"


def _and_more(texts: Sequence[str], noun: str) -> str:
    """The first of the texts, and how many others the lines below this one list."""
    more = f" ({counted(len(texts) - 1, f'more {noun}')} below)" if len(texts) > 1 else ""
    return f"{texts[0].rstrip('.')}{more}"


def _first(steps: Sequence[str]) -> Iterator[str]:
    """The first of the steps before the change, and the number of the others; no text without
    steps."""
    if steps:
        begins = "" if steps[0].startswith("first ") else "first "
        begins = "first, " if steps[0].startswith("if ") else begins
        yield f"{begins}{_and_more(steps, 'step')}"
