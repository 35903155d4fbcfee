"""The step that brings leaders back: what starts first, what that brings, what runs before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Subject
from replica.doctor.health.absent import Absence
from replica.doctor.health.copy_first import CopyFirst
from replica.doctor.health.returning import Returning
from replica.doctor.health.startable import releases_text
from replica.doctor.verdict.evidence import ClusterEvidence, Since
from replica.doctor.verdict.facts import verdict_on, verdict_on_state
from replica.doctor.verdict.verdict import KnownState
from tests.replica.doctor.health.clusters import a_broker, cluster_after, healthy
from tests.replica.doctor.verdict.test_facts import OUTAGE_AT, about, of_partitions
from tests.replica.metadata.image.made import feature

CAREFUL = "Run no unclean election before: it may lose data."
VOTERS = ("1", "2", "3")
BOTH_DOWN = ClusterEvidence(
    health=(
        of_partitions(health.WITHOUT_LEADER, "a-0", "a-1"),
        about(health.FENCED_BROKER, Subject("broker 12", ""), Subject("broker 13", "")),
    ),
    partitions=9,
    leaderless=Since(OUTAGE_AT, OUTAGE_AT),
    returning=(Returning(12, 2), Returning(13, 0)),
    absent={12: Absence.ASKED, 13: Absence.VANISHED},
    voters=VOTERS,
)
ALL_DOWN = replace(
    BOTH_DOWN, partitions=2, absent={}, state=KnownState(81, OUTAGE_AT + 500), unreliable=("1",)
)
IN_ORDER = "Start broker 12 first: it can lead both partitions. Then start broker 13."


def step(evidence: ClusterEvidence) -> str:
    return verdict_on(evidence).next_steps[0]


def test_the_step_says_which_broker_starts_first_and_what_that_brings() -> None:
    runs = "If broker 13 runs, find out why it can't reach the controllers."
    assert step(BOTH_DOWN) == f"{IN_ORDER} {runs} {CAREFUL}"
    orderly = replace(BOTH_DOWN, absent={})
    for order, told in (
        ((Returning(13, 1), Returning(12, 1)), "13 first: it can lead 1 of the 2 partitions. Then "
         "start broker 12 (1 more)."),
        ((Returning(12, 2, is_sure=False), Returning(13, 0)), "12 first: it may be able to lead "
         "both partitions. Then start broker 13."),
    ):  # fmt: skip
        assert step(replace(orderly, returning=order)) == f"Start broker {told} {CAREFUL}"
    unknown = replace(orderly, returning=())
    assert step(unknown) == f"Start brokers 12 and 13. {CAREFUL}"
    copied = replace(orderly, copy_first=(CopyFirst(13, (), ("a",)),))
    assert " Then start broker 12: it can lead both partitions. Then start broker 13. " in step(
        copied
    )


def test_of_brokers_on_the_nodes_of_a_majority_of_the_voters_none_comes_back_first() -> None:
    combined = replace(BOTH_DOWN, voters=("11", "12", "13"), absent={})
    assert step(combined) == f"Start brokers 12 and 13. {CAREFUL}"
    minority = replace(combined, voters=("1", "2", "12"))
    assert step(minority) == f"{IN_ORDER} {CAREFUL}"


def test_a_crashed_broker_alone_may_bring_no_leader_back() -> None:
    alone = replace(
        BOTH_DOWN,
        health=(
            of_partitions(health.WITHOUT_LEADER, "a-0"),
            about(health.FENCED_BROKER, Subject("broker 13", "")),
        ),
        returning=(Returning(13, 1, is_sure=False),),
    )
    assert step(alone) == (
        "Start broker 13, or find out why it can't reach the controllers. If it crashed, its start "
        "may bring no leader back; from an empty disk it may bring a leader without any record. "
        f"{CAREFUL}"
    )


def test_where_all_brokers_are_down_the_controllers_that_can_be_relied_on_start_before() -> None:
    before = "If the controllers are stopped, start nodes 2 and 3 before the brokers."
    assert step(ALL_DOWN) == f"{before} {IN_ORDER} {CAREFUL}"
    copied = replace(ALL_DOWN, copy_first=(CopyFirst(13, (), ("a",)),))
    for each in (ALL_DOWN, copied):
        assert verdict_on(each).facts[0].once_led == f"{IN_ORDER} {CAREFUL}"


@pytest.mark.parametrize(
    "known",
    [
        {"state": KnownState(900, OUTAGE_AT + 60_000)},
        {"state": None},
        {"partitions": 3},
        {"unreliable": ("1", "2")},
        {"voters": ("1", "2", "12")},
        {"leaderless": None},
    ],
)
def test_controllers_that_ran_on_or_cannot_lead_are_not_named(known: dict[str, object]) -> None:
    """In the first case the log goes on; in the third one a broker leads a partition."""
    assert "controllers are stopped" not in step(replace(ALL_DOWN, **known))  # type: ignore[arg-type]


def test_what_is_said_of_leaders_is_not_said_again_of_writes() -> None:
    refused = of_partitions(health.BELOW_MIN_ISR, "a-2")
    known = replace(
        BOTH_DOWN,
        health=(*(BOTH_DOWN.health or ()), refused),
        refusing=Since(OUTAGE_AT, OUTAGE_AT),
    )
    assert verdict_on(known).facts[1].text == (
        "1 of 9 partitions (a-2) has refused writes with acks=all since 2025-11-21 05:56:22 UTC: "
        "too few replicas are in sync, for the same reason. The start of brokers 12 and 13 ends "
        "this, too: don't lower min.insync.replicas."
    )
    two = of_partitions(health.BELOW_MIN_ISR, "a-2", "a-3")
    alone = ClusterEvidence(
        health=(two, about(health.FENCED_BROKER, Subject("broker 12", ""))),
        partitions=9,
        refusing=Since(OUTAGE_AT, OUTAGE_AT + 1000),
    )
    assert verdict_on(alone).headline == (
        "2 of 9 partitions (a-2 and a-3) refuse writes with acks=all, 1 since 2025-11-21 05:56:22 "
        "UTC, all since 2025-11-21 05:56:23 UTC: too few replicas are in sync. Broker 12 is down."
    )


RAISED = feature("metadata.version", 26)


def test_after_an_upgrade_the_releases_that_can_start_stand_beside_what_is_down() -> None:
    """A node that is put back to its former release ends at its start, and no log says why."""
    down = a_broker(13, fenced=True)
    early = [*healthy(25), RAISED]
    said = (
        "Levels were changed after brokers had started: metadata.version is 4.1-IV0. Kafka 4.1 to "
        "4.4 can start on these logs; an older release ends at its start."
    )
    assert releases_text(cluster_after(early)) == said
    (fact, *_) = verdict_on_state(cluster_after([*early, down])).facts
    assert fact.text == f"Broker 13 is down. It holds replicas. {said}"
    assert said not in str(verdict_on_state(cluster_after(early))), "nothing is down"
    again = [*early, *(a_broker(one) for one in (11, 12, 13))]
    assert not releases_text(cluster_after(again)), "all brokers started with it"
    assert not releases_text(cluster_after(healthy()))


def test_other_features_count_for_the_releases_too() -> None:
    told = releases_text(cluster_after([*healthy(25), feature("share.version", 2)]))
    assert "share.version is 2. Kafka 4.4 can start on these logs; an older release" in told
    unknown = releases_text(cluster_after([*healthy(25), feature("share.version", 9)]))
    assert "Only a release after Kafka 4.4 can start on these logs." in unknown
