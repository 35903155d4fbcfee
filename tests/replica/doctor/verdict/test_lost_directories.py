"""Log directories that may hold the only copy of records: they are kept before anything starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Subject
from replica.doctor.health.returning import Returning
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.facts import verdict_on
from tests.replica.doctor.verdict.test_facts import DOWN, LEADERLESS, about, of_partitions


def test_an_offline_directory_is_the_cause_where_no_broker_is_down() -> None:
    lost = about(
        health.LOST_DIRECTORY,
        Subject("a-0", "on broker 3, in a directory that was lost"),
        Subject("a-1", "on broker 3, in directory EZ67Kxzf, not online"),
    )
    found = (of_partitions(health.WITHOUT_LEADER, "a-0", "a-1"), lost)
    verdict = verdict_on(ClusterEvidence(health=found, partitions=9))
    assert verdict.headline == (
        "2 of 9 partitions (a-0 and a-1) have no leader. Broker 3 has a log directory offline."
    )
    assert verdict.next_steps[0].startswith("Keep the files of the disk of broker 3")


REPAIR = (
    "Keep the files of the disk of broker 3 that is offline: no other replica may lead. Repair the "
    "disk (a full disk only needs room), then restart the broker with it. An empty disk in its "
    "place may lead without any record."
)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (0, ""),
        (1, " While broker 3 restarts, 1 more partition has no leader."),
        (103, " While broker 3 restarts, 103 more partitions have no leader."),
    ],
)
def test_the_step_says_what_goes_without_a_leader_while_a_broker_restarts(
    more: int, told: str
) -> None:
    leaderless = of_partitions(health.WITHOUT_LEADER, "wide-0")
    lost = about(health.LOST_DIRECTORY, Subject("wide-0", "on broker 3, in a directory not online"))
    evidence = ClusterEvidence(health=(leaderless, lost), leaderless_in_restart={3: more})
    assert verdict_on(evidence).next_steps == (
        f"{REPAIR}{told} Run no unclean election before: it may lose data.",
    )


@pytest.mark.parametrize("waits_too", [0, 2])
def test_a_broker_whose_disk_is_gone_is_not_started_before_its_files_are_kept(
    waits_too: int,
) -> None:
    """It registered with another disk: a start brings partitions without records."""
    leaderless = of_partitions(health.WITHOUT_LEADER, "a-0", "a-1")
    lost = about(
        health.LOST_DIRECTORY,
        Subject("a-0", "on broker 11, in a directory that was lost"),
        Subject("other-0", "on broker 12, in a directory that was lost"),
    )
    evidence = ClusterEvidence(
        health=(leaderless, lost, DOWN), returning=(Returning(11, waits_too),)
    )
    verdict = verdict_on(evidence)
    assert "12" not in verdict.headline, "its partition has a leader"
    (step,) = verdict.next_steps[:1]
    assert step.startswith("Keep the files of the disk of broker 11 that is offline")
    assert "then start the broker with it" in step
    assert ("Start broker 11." in step) is (waits_too > 0)


def test_what_keeps_the_only_copy_stands_before_the_start_of_its_broker() -> None:
    again = about(
        health.LEADER_IN_NEW_DIRECTORY,
        Subject("a-0", "only broker 11 may lead it, whose former log directory is gone"),
    )
    verdict = verdict_on(replace(LEADERLESS, health=(*(LEADERLESS.health or ()), again)))
    first, start = verdict.next_steps
    assert first == (
        "Keep the former disk of broker 11: it may have the only copy of the records of a-0. Stop "
        "the producers of topic a until it is decided which copy counts, because new records take "
        "the offsets of the lost ones."
    )
    assert start.startswith("Start broker 11.")
    assert verdict.read_first is not None
    assert verdict.read_first.text == (
        "a-0: only broker 11 leads it or may, from another log directory than before. The former "
        "one is gone, as after an installation on a new disk, and it may have begun again without "
        "any record."
    )


def test_one_step_starts_the_brokers_that_end_both_outages() -> None:
    refusing = of_partitions(health.BELOW_MIN_ISR, "b-0")
    verdict = verdict_on(replace(LEADERLESS, health=(*(LEADERLESS.health or ()), refusing)))
    assert [one.startswith("Start broker 11.") for one in verdict.next_steps] == [True]
    told = ", for the same reason. The start of broker 11 ends this, too: don't lower min.insync."
    assert told in verdict.facts[1].text
    none = replace(LEADERLESS, returning=(Returning(11, 0),))
    verdict = verdict_on(replace(none, health=(*(LEADERLESS.health or ()), refusing)))
    assert verdict.next_steps[1] == health.BELOW_MIN_ISR.next_step
    assert "The start of broker 11 gives none of these partitions" in verdict.next_steps[0]


def test_the_start_of_a_node_that_is_voter_and_broker_is_one_step() -> None:
    voter = about(health.VOTER_ON_FENCED_BROKER, Subject("voter 11", "its broker is fenced"))
    broker, of_voter = verdict_on(ClusterEvidence(health=(DOWN, voter))).next_steps
    assert broker.startswith("Broker 11: Start the broker")
    assert of_voter == "Voter 11: Stop no voter before it runs."
    (alone,) = verdict_on(ClusterEvidence(health=(voter,))).next_steps
    assert alone == "Voter 11: Start this node, and stop no voter before it runs."
