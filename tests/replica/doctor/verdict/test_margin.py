"""The quorum's margin in facts about voters that don't count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.doctor.check.catalogue import RULES_BY_ID, groups, health, log
from replica.doctor.check.rule import Finding, Rule, Subject
from replica.doctor.verdict.evidence import ClusterEvidence, PlacedFinding
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.old_disks import OLD_DISKS
from replica.doctor.verdict.verdict import KnownState, Level, MissingVoters
from replica.model.keys import ReplicaKey
from tests.replica.doctor.verdict.test_facts import THREE, about

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


def test_disks_that_leave_no_majority_are_a_risk() -> None:
    of_two = ClusterEvidence(nodes=2, voters=("1", "2"), unreliable=("2",))
    verdict = verdict_on(of_two)
    assert verdict.level is Level.AT_RISK
    assert verdict.headline == (
        "The disk of voter 2 can't be relied on, and the voters that are left are no majority (1 "
        "of 2): they elect nobody without one more voter, on its own whole disk."
    )
    assert "recover --plan" in verdict.next_steps[0]
    assert verdict_on(replace(of_two, voters=THREE)).level is Level.HEALTHY, "2 of 3 are a majority"
    of_three = verdict_on(replace(of_two, voters=THREE, unreliable=("1", "2")))
    assert of_three.headline.startswith("The disks of voters 1 and 2 can't be relied on")
    assert of_three.headline.endswith(": committed records may be lost.")
    assert verdict_on(replace(of_two, unreliable=())).level is Level.HEALTHY


def test_a_damaged_disk_and_a_voter_that_is_behind_may_elect_a_leader_without_records() -> None:
    """Kafka cuts a damaged log where the damage begins, and then votes for any longer log."""
    behind = PlacedFinding("node 3", groups.VOTER_BEHIND.at("", "voter 3: its log ends early"))
    evidence = ClusterEvidence(nodes=3, voters=THREE, unreliable=("2",), findings=(behind,))
    verdict = verdict_on(evidence)
    assert verdict.level is Level.AT_RISK
    assert verdict.headline == (
        "The disk of voter 2 can't be relied on, and voter 3 lacks the newest records: together "
        "they are 2 of 3 voters, and may elect a leader that lacks committed records."
    )
    assert verdict.next_steps[0].startswith("Keep node 2 stopped, ")
    for harmless in (
        replace(evidence, voters=("1", "2", "3", "4", "5")),
        replace(evidence, unreliable=()),
        replace(evidence, findings=()),
    ):
        assert verdict_on(harmless).level is not Level.AT_RISK


def test_unreliable_and_replaced_disks_are_counted_once_for_both_facts() -> None:
    of_both = ClusterEvidence(nodes=3, voters=THREE, unreliable=("1",), replaced=("2",))
    facts = verdict_on(of_both).facts
    assert {fact.level for fact in facts} == {Level.OUTAGE, Level.AT_RISK}
    assert all("the voters that are left are no majority (1 of 3)" in one.text for one in facts)
    of_five = replace(of_both, voters=("1", "2", "3", "4", "5"))
    (fact,) = verdict_on(of_five).facts
    assert "each of the other voters (3, 4 and 5)" in fact.text


def test_damage_in_a_voter_s_log_is_a_risk_and_in_an_observer_s_none() -> None:
    """Rehearsed, a voter with a flipped bit leads in half of the runs, with the wrong record."""
    damage = PlacedFinding("node 2", Finding(log.CRC_MISMATCH, "1.log", "made", 1248, 14))
    evidence = ClusterEvidence(nodes=3, voters=THREE, unreliable=("2",), findings=(damage,))
    verdict = verdict_on(evidence)
    assert verdict.level is Level.AT_RISK
    assert " Found: offset 14, in 1.log at byte 1248. A voter with such a log " in verdict.headline
    assert verdict.next_steps[0].startswith("Keep node 2 stopped. Node 2: Keep a copy ")
    of_broker = replace(evidence, voters=("1", "3", "4"), unreliable=())
    assert verdict_on(of_broker).level is Level.ATTENTION


def test_where_no_majority_is_left_no_voter_is_told_to_join_again() -> None:
    """The only voter of a quorum has nobody to join."""
    stale = PlacedFinding("node 1", Finding(groups.STALE_VOTER, "f", "voter 1: its disk is old"))
    alone = ClusterEvidence(nodes=1, voters=("1",), unreliable=("1",), findings=(stale,))
    (_, step) = verdict_on(alone).next_steps
    assert step == (
        "Node 1: Keep the node stopped, and look for the disk on which it ran, or a newer copy of "
        "it."
    )
    of_three = replace(alone, voters=THREE)
    assert any("let it join again" in one for one in verdict_on(of_three).next_steps)


def test_the_nodes_with_the_newest_logs_start_first_if_one_stopped_since() -> None:
    """A leader that was killed leaves no record of it. The voter that was behind before is only the
    second choice then."""
    behind = PlacedFinding("node 2", groups.VOTER_BEHIND.at("", "voter 2: its log ends early"))
    state = KnownState(450, 1_764_500_000_000)
    evidence = ClusterEvidence(nodes=3, voters=THREE, findings=(behind,), state=state)
    step = verdict_on(evidence).next_steps[0]
    assert step.startswith(
        "No log here goes on after 2025-11-30 10:53:20 UTC. Nodes 1 and 3 have the newest logs: if "
        "one of them is down since, start it first, with its own disk. Format no node. Node 2: If "
    )
    missing = MissingVoters(frozenset({ReplicaKey(3)}), 3, frozenset({1, 2}))
    step = verdict_on(replace(evidence, missing=missing)).next_steps[0]
    assert "have the newest logs" not in step, "nobody knows the log of node 3"


@pytest.mark.parametrize(
    ("voters", "behind", "unseen", "told"),
    [
        (
            "1234",
            "2",
            "3",
            "If node 3 doesn't run either, there is no leader now: node 2, started with its own "
            "disk, makes a majority with nodes 1 and 4. Do not format or wipe its disk. Node 2: If",
        ),
        (
            "12345",
            "45",
            "23",
            "If nodes 2 and 3 don't run either, there is no leader now: nodes 4 and 5, started "
            "with their own disks, make a majority with node 1. Do not format or wipe their disks.",
        ),
        ("12345", "45", "3", "one of nodes 4 and 5, started with its own disk, makes a majority"),
        ("12345", "5", "4", ""),  # nodes 1, 2 and 3 are a majority without them
        ("12345", "5", "234", ""),  # nodes 1 and 5 are none
        ("123", "2", "", ""),
    ],
)
def test_a_voter_that_is_behind_may_be_the_one_vote_that_is_left(
    voters: str, behind: str, unseen: str, told: str
) -> None:
    """A voter whose directory was not given may have lost its disk. Then a voter that somebody
    replaced, and never removed, is the last one under a directory id that the log knows."""
    late = tuple(
        PlacedFinding(f"node {one}", groups.VOTER_BEHIND.at("", f"voter {one}: it ends early"))
        for one in behind
    )
    keys = frozenset(ReplicaKey(int(one)) for one in unseen)
    missing = MissingVoters(keys, len(voters), frozenset(map(int, {*voters} - {*unseen})))
    evidence = ClusterEvidence(voters=tuple(voters), findings=late, missing=missing)
    steps = verdict_on(evidence).next_steps
    assert told in steps[0]
    assert sum("there is no leader now" in one for one in steps) == bool(told), "said once"
    replaced = replace(missing, given=frozenset(map(int, voters)))
    others = verdict_on(replace(evidence, missing=replaced)).next_steps
    assert not any("there is no leader now" in one for one in others), "they have other disks"


def test_a_voter_that_stopped_while_it_wrote_gets_room_on_its_disk_before_its_start() -> None:
    behind = PlacedFinding("node 2", groups.VOTER_BEHIND.at("", "voter 2: its log ends early"))
    torn = PlacedFinding("node 2", log.TORN_TAIL.at("1.log", "67 of 72 bytes", offset=493))
    evidence = ClusterEvidence(nodes=3, voters=THREE, findings=(behind, torn))
    told = (
        "Node 2: its log ends inside a batch, as after a full disk or a power cut. Before the "
        "start free space on the disk, but delete nothing in __cluster_metadata-0: Kafka cuts off "
        "the batch itself."
    )
    assert verdict_on(evidence).next_steps[0].endswith(told)
    gave_up = health.LEADER_GAVE_UP.at("", "node 1 gave up")
    facts = verdict_on(replace(evidence, health=(gave_up,))).facts
    assert [told in fact.next_step for fact in facts[:2]] == [True, False], "said once, at first"
    alone = verdict_on(replace(evidence, findings=(torn,)))
    assert all("inside a batch" not in one for one in alone.next_steps), "copied while it ran"
