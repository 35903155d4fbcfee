"""The quorum's margin in facts about voters that don't count."""

from __future__ import annotations

import pytest

from replica.doctor.check.catalogue import RULES_BY_ID, groups, health
from replica.doctor.check.rule import Finding, Rule, Subject
from replica.doctor.verdict.evidence import ClusterEvidence, PlacedFinding
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.old_disks import OLD_DISKS
from tests.replica.doctor.verdict.test_facts import about

MARGIN = " While only nodes 1 and 3 run and are caught up, the quorum stops when one of them stops."


def texts(*behind: str, voters: str = "123", rule: Rule = groups.VOTER_BEHIND, down: str = "",
          unreliable: str = "") -> list[str]:  # fmt: skip
    found = tuple(
        PlacedFinding(f"node {node}", Finding(rule, "f", f"voter {node}: its log ends early"))
        for node in behind
    )
    fenced = [Subject(f"voter {node}", f"broker {node} is fenced") for node in down]
    of_health = (about(health.VOTER_ON_FENCED_BROKER, *fenced),) if down else ()
    evidence = ClusterEvidence(
        findings=found, health=of_health, voters=tuple(voters), unreliable=tuple(unreliable)
    )
    return [fact.text for fact in verdict_on(evidence).facts]


def test_the_voters_that_are_left_are_named_where_they_are_just_a_majority() -> None:
    (told,) = texts("2")
    assert told.endswith(MARGIN)
    (told,) = texts(down="2")
    assert told.endswith(MARGIN)
    four = texts("2", voters="12345", down="4")
    assert len(four) == 2
    assert all(" While only nodes 1, 3 and 5 run" in one for one in four)


@pytest.mark.parametrize("rule", sorted(OLD_DISKS - {groups.VOTER_BEHIND.id}))
def test_a_disk_that_can_t_be_relied_on_is_not_counted(rule: str) -> None:
    (told,) = texts("2", rule=RULES_BY_ID[rule], unreliable="2")
    assert told.endswith(MARGIN)


def test_more_and_fewer_than_a_majority_have_no_margin() -> None:
    for told in (
        texts("2", voters="12345"),
        texts("2", down="3"),
        texts("1", voters="1"),
        texts("4"),
    ):
        assert told
        assert not any("While only" in one for one in told)
