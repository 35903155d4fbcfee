"""Rules about the verdict: no command knows of anything worse than the verdict says, and more
damage makes the verdict no better."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from replica.doctor.check.catalogue import groups
from replica.doctor.health.exposure import NOW
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.doctor.rehearsal.runs import ScenarioSafety
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.evidence_of_directories import evidence_of
from replica.doctor.verdict.verdict import Level
from replica.model.voters import majority
from replica.severity import Severity
from tests.contradictions.answers import Answers, Rule

_BAD = (Severity.ERROR, Severity.WARNING)
_WELL = (Level.HEALTHY, Level.RECOVERED)
_AT_RISK = Level.AT_RISK.rank
_OF_PYTHON = re.compile(r"\b(None|nan|True|False)\b")
_START_NEITHER = {groups.CONFLICT.id, groups.COMMITTED_DATA_AT_RISK.id}


def the_verdict_is_no_better_than_any_answer(answers: Answers) -> Iterator[str]:
    """At 3 a.m. a person reads only the verdict."""
    if answers.checked is None:
        return
    level = answers.verdict_on(evidence_of(answers.checked)).level
    found = [
        *(one for member in answers.judged.members for one in member.findings),
        *answers.judged.findings,
        *(answers.checked.health or ()),
    ]
    bad = sorted({one.rule.id for one in found if one.severity in _BAD})
    if bad and level in _WELL:
        yield f"check finds {bad}, the verdict is {level.value}"
    if _START_NEITHER & answers.between and level.rank > _AT_RISK:
        yield f"check says to start neither, the verdict is {level.value}"
    if answers.plan.answer is RecoveryDecision.REFUSED and level.rank > Level.ATTENTION.rank:
        yield f"recover refuses ({answers.plan.reasons[0]}), the verdict is {level.value}"
    runs = answers.rehearsed
    if runs is not None and runs.answer is ScenarioSafety.UNSAFE and level in _WELL:
        yield f"rehearse is unsafe ({runs.reasons[0]}), the verdict is {level.value}"
    if runs is not None and level.rank > _AT_RISK:
        lost = runs.rehearsal.runs_of(lambda outcome: bool(outcome.committed_lost))
        if lost:
            yield f"committed records are lost in {lost} runs, the verdict is {level.value}"
    quorum = answers.plan.quorum
    left = len(quorum.voters) - len(quorum.unreliable)
    if quorum.unreliable and left < majority(len(quorum.voters)) and level.rank > _AT_RISK:
        yield f"recover relies on {left} of {len(quorum.voters)} voters, the verdict is {level}"
    now = answers.exposure(NOW)
    if now is not None and now.has_majority is False and level.rank > Level.ATTENTION.rank:
        yield f"no majority of the voters is left by the exposure, the verdict is {level.value}"


def no_sentence_holds_a_value_of_python(answers: Answers) -> Iterator[str]:
    """A person reads sentences, and no `None`."""
    sentences = [*answers.plan.reasons, *(one.detail for one in answers.events)]
    for answer in (answers.rehearsed, answers.rehearsed_plan):
        sentences += () if answer is None else answer.reasons
    sentences += (one.message for one in answers.judged.findings)
    if answers.checked is not None:
        verdict = answers.verdict_on(evidence_of(answers.checked))
        sentences += (one for fact in verdict.facts for one in (fact.text, fact.next_step))
        sentences += (one.message for one in answers.checked.health or ())
    yield from (one for one in sentences if _OF_PYTHON.search(one))


def less_damage_makes_the_verdict_no_worse(answers: Answers) -> Iterator[str]:
    """Otherwise a second fault could turn an outage into something less."""
    if answers.checked is None:
        return
    evidence = evidence_of(answers.checked)
    level = answers.verdict_on(evidence).level
    for rule, less in _less(evidence):
        without = answers.verdict_on(less).level
        if without.rank < level.rank:
            yield f"the verdict is {level.value}, and {without.value} without {rule}"


def _less(evidence: ClusterEvidence) -> Iterator[tuple[str, ClusterEvidence]]:
    """(rule, the evidence without the rule's findings) for each rule with findings."""
    for rule in sorted({one.finding.rule.id for one in evidence.findings}):
        left = tuple(one for one in evidence.findings if one.finding.rule.id != rule)
        yield rule, replace(evidence, findings=left)
    for rule in sorted({one.rule.id for one in evidence.health or ()}):
        left_of_health = tuple(one for one in evidence.health or () if one.rule.id != rule)
        yield rule, replace(evidence, health=left_of_health)


ONE_VERDICT: tuple[Rule, ...] = (
    the_verdict_is_no_better_than_any_answer,
    no_sentence_holds_a_value_of_python,
    less_damage_makes_the_verdict_no_worse,
)
