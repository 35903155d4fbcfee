"""What stands before the first step in a report, and what it says of disks that lack records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.report.verdict import RuleCount, verdict
from replica.doctor.verdict.old_disks import OLD_DISKS
from replica.doctor.verdict.verdict import Fact, Level
from replica.severity import Severity
from tests.pipelines.report.test_verdict import DOWN, HEALTHY, WORN

RISK = Fact(Level.AT_RISK, Severity.WARNING, "The start of broker 12 truncates.", "First copy.")


def test_what_must_be_read_before_the_first_step_stands_in_a_line_of_its_own() -> None:
    answer = verdict(replace(HEALTHY, now=(DOWN, RISK, WORN)))
    assert answer.read_first == RISK
    assert answer.sentence.startswith(f"Now: {DOWN.text} {RISK.text} {WORN.text} ")
    assert answer.beside_first.sentence.startswith(f"Now: {DOWN.text} {WORN.text} In the newest")
    assert verdict(replace(HEALTHY, now=(RISK, WORN))).read_first is None
    told = replace(RISK, rules=("conflict",))
    assert verdict(replace(HEALTHY, now=(DOWN, told))).read_first is None, "the clauses tell it"


def test_the_worst_fact_or_clause_stands_alone_and_all_others_follow_it() -> None:
    """A reader takes in what is wrong from the first line; the others can be read later."""
    answer = verdict(replace(HEALTHY, now=(DOWN, RISK, WORN)))
    first, second, clauses = answer.beside_first.statements
    assert (first, second) == (DOWN.text, WORN.text)
    assert f"Now: {first} {second} {clauses}" == answer.beside_first.sentence
    of_loss = replace(RISK, rules=("conflict",))
    loss, down, rest = verdict(replace(HEALTHY, now=(of_loss, DOWN))).beside_first.statements
    assert down == DOWN.text
    assert "; " not in loss
    assert rest


@pytest.mark.parametrize("rule", sorted(OLD_DISKS))
def test_beside_a_disk_that_lacks_records_no_clause_says_that_none_were_lost(rule: str) -> None:
    counted = replace(HEALTHY, rules=(RuleCount(rule, "warning", 1, 1),))
    lacks = Fact(Level.AT_RISK, Severity.WARNING, "Node 1 lacks offsets 0 to 80.", rules=(rule,))
    for facts in (counted, replace(HEALTHY, now=(lacks,))):
        behind = verdict(replace(facts, relations={"prefix": 3})).sentence
        assert "agree wherever two hold the same offset (to offset 99)" in behind
        assert "lost records" not in behind
