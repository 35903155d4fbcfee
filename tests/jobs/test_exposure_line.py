"""The one line in which `state --exposure` answers: the worst broker, and how many partitions its
failure harms."""

from __future__ import annotations

import pytest

from jobs.cli.asking.exposure_line import exposure_line
from replica.doctor.check.rule import Finding
from replica.doctor.health.exposure import BROKER, NOTHING, VOTER, Exposure, exposures
from replica.doctor.health.judging import judge_health
from replica.doctor.quorum.conditions import NoLeader
from tests.replica.doctor.health.clusters import a_broker, a_partition, cluster_after, healthy
from tests.replica.doctor.health.clusters import voters as voter_records
from tests.replica.metadata.image.made import config

MIN_ISR_NAME = "min.insync.replicas"
MIN_ISR = config("2", MIN_ISR_NAME)
ONE_DOWN = (a_broker(13, fenced=True), a_partition(isr=(11, 12)), MIN_ISR)


def told(*records: object, unled: NoLeader | None = None, is_conditional: bool = False) -> str:
    """The line about a healthy cluster with these records at its end."""
    cluster = cluster_after([*healthy(), *records], by_verdict=unled)
    found: dict[str, list[Exposure]] = {kind: [] for kind in (NOTHING, BROKER, VOTER)}
    for one in exposures(cluster):
        found.setdefault(one.failure.kind, []).append(one)
    (now,) = found[NOTHING]
    return exposure_line(cluster, now, found[BROKER], found[VOTER], is_conditional=is_conditional)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (
            [MIN_ISR],
            "No broker's failure leaves the partition without a leader or below "
            "min.insync.replicas.",
        ),
        (
            ONE_DOWN,
            "Once broker 11 or 12 is gone, 1 of 1 partition refuses writes with acks=all (below "
            "min.insync.replicas).",
        ),
        (
            [*ONE_DOWN, a_partition(1, replicas=(12,))],
            "Once broker 12 is gone, 1 of 2 partitions has no leader and 1 refuses writes with "
            "acks=all (below min.insync.replicas).",
        ),
        (
            [config("1", "min.insync.replicas"), a_broker(13, fenced=True),
             a_partition(1, replicas=(13,), isr=(13,), leader=-1)],
            "1 of 2 partitions has no leader now, and the failure of one more broker harms no "
            "other partition.",
        ),
        (
            [MIN_ISR, a_broker(13, fenced=True), a_partition(isr=(11,)),
             a_partition(1, replicas=(13,), isr=(13,), leader=-1),
             a_partition(2, replicas=(11, 12))],
            "Once broker 11 is gone, 2 of 3 partitions have no leader (1 now), for 1 of which only "
            "an unclean election finds one and 1 refuses writes with acks=all (1 now; below "
            "min.insync.replicas).",
        ),
        (
            [a_partition(isr=()), a_partition(1, replicas=(12,))],
            "Once broker 12 is gone, 2 of 2 partitions have no leader (1 now), for 1 of which (1 "
            "now) only an unclean election finds one.",
        ),
        (
            [a_broker(13, fenced=True), a_partition(isr=(11, 12)), a_partition(1, (12, 11))],
            "Once broker 11 or 12 is gone, 2 of 2 partitions may refuse writes with acks=all (1 "
            "now; their min.insync.replicas is not known).",
        ),
        (
            [a_broker(one, fenced=True) for one in (11, 12, 13)],
            "Down now: nodes 11, 12 and 13. No broker is live by the log: 1 of 1 partition has no "
            "leader now.",
        ),
        (
            [voter_records(1, 2)],
            "Once broker 11, 12 or 13 is gone, 1 of 1 partition may refuse writes with acks=all "
            "(its min.insync.replicas is not known). Once voter 1 or 2 is gone, the quorum has no "
            "majority.",
        ),
    ],
)  # fmt: skip
def test_the_worst_broker_and_the_numbers_come_first(records: list[object], expected: str) -> None:
    line = told(*records)
    assert line.removeprefix("Down now: node 13. ") == expected
    assert line.startswith("Down now: ") is ("'fenced': True" in str(records))


def test_what_is_down_now_stands_first() -> None:
    combined = [voter_records(11, 12, 13), a_broker(13, fenced=True)]
    combined += [a_partition(0, replicas=(11, 12), isr=(11, 12)), config("1", MIN_ISR_NAME)]
    assert told(*combined).startswith(
        "Down now: node 13, and 2 of 3 voters can be counted. Once broker 11 is gone, the "
        "quorum has no majority"
    )
    hangs = NoLeader("has none", is_sure=True, down=frozenset({12}))
    assert told(*combined, unled=hangs).startswith(
        "Down now: nodes 12 and 13, and the quorum has no leader. Once broker 11 is gone, 1 of 1 "
        "partition has no leader."
    )


def test_a_node_that_is_down_by_the_verdict_leads_nothing() -> None:
    """Without a leader of the quorum nobody fences a node that hangs."""
    down = frozenset({12})
    for is_sure, live in ((True, {11, 13}), (False, {11, 12, 13})):
        unled = NoLeader("has none", is_sure, down=down)
        cluster = cluster_after([*healthy(), voter_records(11, 12, 13)], by_verdict=unled)
        assert cluster.live_brokers == live
        assert cluster.voters_up == live
        assert not names_of_voters(judge_health(cluster)), "no record fences them"


def test_a_controller_that_is_down_by_the_verdict_has_no_broker() -> None:
    unled = NoLeader("has none", is_sure=True, down=frozenset({2}))
    cluster = cluster_after(healthy(), by_verdict=unled)
    assert (cluster.voters_up, cluster.voters_down) == ({1, 3}, {2})
    assert cluster.live_brokers == {11, 12, 13}
    assert not names_of_voters(judge_health(cluster))


def names_of_voters(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.rule.id == "voter-on-fenced-broker"]


def test_brokers_that_are_the_last_voters_take_the_majority_and_are_told_once() -> None:
    """Node 11 is a voter and a broker. Without a majority no partition gets another leader."""
    assert told(voter_records(11), a_partition(1, replicas=(11,)), MIN_ISR) == (
        "Once broker 11 is gone, the quorum has no majority and 2 of 2 partitions have no leader."
    )


@pytest.mark.parametrize(
    ("is_sure", "said"),
    [
        (True, "Without a leader of the quorum no partition gets another leader."),
        (False, "These are the numbers if the quorum has a leader now; without one, no partition "
                "gets another leader: the failure of broker 11 leaves 1 of 1 partition without "
                "one."),
    ],
)  # fmt: skip
def test_no_number_hides_what_it_rests_on(is_sure: bool, said: str) -> None:
    line = told(*ONE_DOWN, unled=NoLeader("has none", is_sure), is_conditional=True)
    assert line.endswith(f" {said} The last lines say what this rests on.")


def test_without_a_majority_no_broker_is_said_to_be_spared() -> None:
    """Nobody elects a leader for its partitions."""
    cluster = cluster_after([*healthy(), MIN_ISR])
    (now, broker) = (one._replace(has_majority=False) for one in (*exposures(cluster),)[:2])
    assert exposure_line(cluster, now, [broker], []) == (
        "By the log, 0 of 1 partition has no leader and 0 refuse writes with acks=all now, and no "
        "broker's failure changes that. The voters that can be counted are no majority now: these "
        "are the numbers if the quorum has a leader now; without one, no partition gets another "
        "leader: the failure of broker 11 leaves 1 of 1 partition without one."
    )
