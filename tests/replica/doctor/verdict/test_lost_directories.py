"""Log directories that may hold the only copy of records: they are kept before anything starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Subject
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.min_isrs import MIN_ISR
from replica.doctor.health.returning import Returning
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.facts import verdict_on, verdict_on_state
from replica.doctor.verdict.verdict import Verdict
from replica.model.keys import NO_NODE
from tests.replica.doctor.health.clusters import (
    a_broker,
    a_partition,
    cluster_after,
    directory_of,
    healthy,
)
from tests.replica.doctor.verdict.test_facts import DOWN, LEADERLESS, about, of_partitions
from tests.replica.metadata.image.made import broker_change, config


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
    "Keep the files of the disk of broker 3 that is offline: no other replica may lead. Do not "
    "restart the broker without that disk, be it taken out of log.dirs or with an empty one in its "
    "place: such a restart may bring leaders without any record, and other replicas then delete "
    "theirs. Repair the disk (a full disk only needs room), and restart the broker with it."
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
    assert "and start the broker with it" in step
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


LOST_OF_13 = (directory_of(11), directory_of(12), directory_of(99))
"""Directories of the brokers 11, 12 and 13, the last of them offline."""


def a_dead_disk(*refusing: object) -> Cluster:
    """Broker 12 is down, and broker 13 runs on without one of its directories. One partition waits
    for that directory, and another one for broker 12, too."""
    only = a_partition(
        0, (13,), (), NO_NODE, directories=LOST_OF_13[2:], eligibleLeaderReplicas=(13,)
    )
    both = a_partition(
        1, (12, 13), (), NO_NODE, directories=LOST_OF_13[1:], eligibleLeaderReplicas=(12, 13)
    )
    down = broker_change(brokerId=12, fenced=1)
    records = [*healthy(), a_broker(13), config("2", MIN_ISR), only, both, *refusing, down]
    return cluster_after(records, vanished=frozenset({12}))


def beside_a_dead_disk(*refusing: object) -> Verdict:
    return verdict_on_state(a_dead_disk(*refusing))


def test_the_whole_broker_starts_before_the_one_with_a_disk_offline_restarts() -> None:
    """Broker 12 has the other copies: the broker without its disk would lead them, empty."""
    (step,) = beside_a_dead_disk().next_steps[:1]
    keep, start = step.split(" Leave broker 13 running. Before any restart of it: start broker 12")
    assert keep == (
        "Keep the files of the disk of broker 13 that is offline: no other replica may lead 1 of "
        "the 2 partitions. Do not restart the broker without that disk, be it taken out of "
        "log.dirs or with an empty one in its place: such a restart may bring leaders without any "
        "record, and other replicas then delete theirs."
    )
    assert "Then repair the disk (a full disk only needs room), and restart the broker" in start


def test_partitions_that_refuse_writes_until_a_disk_is_back_wait_for_no_start() -> None:
    by_start = a_partition(2, (11, 12), (11,))
    by_either = a_partition(3, isr=(11,), directories=LOST_OF_13)
    by_disk = a_partition(4, (11, 13), (11,), directories=(LOST_OF_13[0], LOST_OF_13[2]))
    verdict = beside_a_dead_disk(by_start, by_either, by_disk)
    assert verdict.facts[1].text.endswith(
        "for the same reason. The start of broker 12 ends this for orders-2 and orders-3, too. "
        "orders-4 waits for the disk of broker 13 that is offline. Don't lower min.insync.replicas."
    )
    assert not verdict.facts[1].next_step, "the step before repairs that disk"
    assert "ends this, too: don't" in beside_a_dead_disk(by_start).facts[1].text


def test_a_partition_whose_replica_runs_and_is_behind_waits_for_no_start() -> None:
    verdict = beside_a_dead_disk(a_partition(4, (11, 13), (11,)))
    assert verdict.facts[1].text.endswith(
        "for the same reason. The start of broker 12 doesn't end it for orders-4. Don't lower "
        "min.insync.replicas."
    )
    assert verdict.facts[1].next_step == health.BELOW_MIN_ISR.next_step


def test_the_start_of_a_node_that_is_voter_and_broker_is_one_step() -> None:
    voter = about(health.VOTER_ON_FENCED_BROKER, Subject("voter 11", "its broker is fenced"))
    broker, of_voter = verdict_on(ClusterEvidence(health=(DOWN, voter))).next_steps
    assert broker.startswith("Broker 11: Start the broker")
    assert of_voter == "Voter 11: Stop no voter before it runs."
    (alone,) = verdict_on(ClusterEvidence(health=(voter,))).next_steps
    assert alone == "Voter 11: Start this node, and stop no voter before it runs."
