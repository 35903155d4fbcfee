"""What stands before the first step in a report, and what it says of disks that lack records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.report.losses import LostRecordCount, When
from pipelines.report.report_facts import RuleCount
from pipelines.report.verdict import verdict
from replica.doctor.verdict.old_disks import OLD_DISKS
from replica.doctor.verdict.verdict import Fact, Level
from replica.severity import Severity
from tests.pipelines.report.test_verdict import DOWN, HEALTHY, TOPICS, TWO, WORN, judged

RISK = Fact(Level.AT_RISK, Severity.WARNING, "The start of broker 12 truncates.", "First copy.")


def test_what_must_be_read_before_the_first_step_stands_in_a_line_of_its_own() -> None:
    answer = verdict(replace(HEALTHY, judged=judged(DOWN, RISK, WORN)))
    assert answer.read_first == RISK
    assert answer.sentence == f"{DOWN.text} {RISK.text} {WORN.text}"
    assert (answer.headline, answer.beside) == (DOWN.text, (WORN.text,))
    assert verdict(replace(HEALTHY, judged=judged(RISK, WORN))).read_first is None


def test_the_worst_statement_stands_alone_in_the_words_of_check() -> None:
    """A reader takes in what is wrong from the first line; the others can be read later."""
    found = judged(DOWN, RISK, WORN)
    answer = verdict(replace(HEALTHY, judged=found))
    assert (answer.level, answer.headline) == (found.level, found.headline)
    earlier = LostRecordCount((TWO,), When.GONE, 10, 22, 22, 0, 0, (7,))
    answer = verdict(replace(HEALTHY, losses=(earlier,), judged=judged(WORN)))
    assert answer.level is Level.AT_RISK, "which only earlier captures show"
    assert answer.headline.startswith("Node 2 held 22 records (offsets 10 to 31, epoch 7), 22")
    assert answer.beside == (WORN.text,)
    assert answer.of_logs == ""


def test_what_check_says_of_lost_records_is_not_said_twice() -> None:
    pending = LostRecordCount((TWO,), When.PENDING, 10, 22, 0, 0, 22, (7,), effect=TOPICS)
    parts = Fact(
        Level.ATTENTION, Severity.WARNING, "Node 2 will discard 22.", rules=("log-divergence",)
    )
    facts = replace(HEALTHY, losses=(pending,), relations={"diverged": 2}, judged=judged(parts))
    answer = verdict(facts)
    assert answer.headline == parts.text
    assert answer.of_logs == (
        "The 22 records that node 2 would discard (from offset 10 on, epoch 7) were written "
        "2026-01-01 00:00:05 to 00:00:07 UTC: 5 topics with 15 partitions were never created."
    )


@pytest.mark.parametrize("rule", sorted(OLD_DISKS))
def test_beside_a_disk_that_lacks_records_no_clause_says_that_none_were_lost(rule: str) -> None:
    counted = replace(HEALTHY, rules=(RuleCount(rule, "warning", 1, 1),))
    lacks = Fact(Level.AT_RISK, Severity.WARNING, "Node 1 lacks offsets 0 to 80.", rules=(rule,))
    for facts in (counted, replace(HEALTHY, judged=judged(lacks))):
        behind = verdict(replace(facts, relations={"prefix": 3})).sentence
        assert "agree" not in behind
        assert "lost records" not in behind
