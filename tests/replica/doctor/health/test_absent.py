"""How brokers that are not live came to be so, by the changes of a state and by a log's records."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from replica.doctor.check.catalogue import health
from replica.doctor.health.absent import Absence, absent_brokers, idle_when_fenced, vanished
from replica.doctor.health.judging import judge_health
from replica.doctor.health.rewound import VisibleChange
from replica.doctor.verdict.facts import verdict_on_state
from tests.replica.doctor.check.editing import append
from tests.replica.doctor.health.clusters import a_broker, a_partition, cluster_after, healthy
from tests.replica.doctor.health.test_recorded import the_cluster
from tests.replica.doctor.timeline.test_events import metadata_of_version
from tests.replica.metadata.image.made import broker_change, feature

RECORDED = Path(__file__).parents[3] / "data/kafka-4.1.1-dynamic/final"
LIVE = dict(cluster_after(healthy()).values("brokers"))
FENCED = broker_change(brokerId=11, fenced=1)
AT = len(healthy())


def steps(*more: VisibleChange) -> Iterable[VisibleChange]:
    yield from more
    yield VisibleChange(AT, 1, (("brokers", 11, LIVE[11]),))
    raise AssertionError("read further back than to the fencing")


def test_a_broker_vanished_if_a_change_fenced_it_that_asked_for_no_shutdown() -> None:
    later = VisibleChange(AT + 1, 1, (("brokers", 12, LIVE[12]),))
    asked = broker_change(brokerId=12, fenced=1, inControlledShutdown=1)
    stopping = broker_change(brokerId=13, inControlledShutdown=1)
    cluster = cluster_after([*healthy(), FENCED, asked, stopping])
    found = vanished(cluster, lambda: steps(later))
    assert absent_brokers(replace(cluster, vanished=found)) == {
        11: Absence.VANISHED,
        12: Absence.ASKED,
        13: Absence.STOPPING,
    }


@pytest.mark.parametrize(
    "records",
    [
        [*healthy(), a_broker(11, fenced=True, brokerEpoch=AT)],
        [feature("metadata.version", 6), *healthy()[1:], FENCED],
    ],
    ids=["it registered again", "a release that logs no request"],
)
def test_a_broker_is_only_fenced_where_the_log_does_not_show_how(records: list[object]) -> None:
    cluster = cluster_after(records)
    found = vanished(cluster, lambda: [VisibleChange(AT, 1, (("brokers", 11, LIVE[11]),))])
    assert found == frozenset()
    assert absent_brokers(cluster)[11] is Absence.FENCED


def test_a_change_in_a_transaction_is_seen_at_its_end() -> None:
    cluster = cluster_after([*healthy(), FENCED])
    ended = VisibleChange(AT + 3, 1, (("brokers", 11, LIVE[11]),))
    assert vanished(cluster, lambda: [ended]) == {11}


def test_a_broker_that_was_fenced_in_a_snapshot_may_have_registered_again() -> None:
    cluster = cluster_after([*healthy(), FENCED])
    later = VisibleChange(AT + 9, 1, (("brokers", 12, LIVE[12]),))
    assert vanished(cluster, lambda: [later]) == frozenset()


def test_a_recorded_broker_that_registered_again_did_not_vanish() -> None:
    """Its registration stands behind changes of partitions in one batch, so that its epoch is less
    than the record's offset."""
    cluster = the_cluster(RECORDED)
    assert absent_brokers(cluster) == {11: Absence.FENCED}


@pytest.mark.parametrize(
    ("asked", "how"), [({}, Absence.IDLE), ({"inControlledShutdown": 1}, Absence.ASKED)]
)
def test_the_log_of_a_directory_shows_who_asked_for_a_shutdown(
    tmp_path: Path, asked: dict[str, int], how: Absence
) -> None:
    node = Path(shutil.copytree(RECORDED / "3", tmp_path / "3"))
    (end,) = {the_cluster(node).end_offset}
    epoch = the_cluster(node).values("brokers")[12]["brokerEpoch"]
    fields = {"brokerId": 12, "brokerEpoch": epoch, "fenced": 1, **asked}
    value = metadata_of_version("BROKER_REGISTRATION_CHANGE_RECORD", 1, fields)
    append(max(node.rglob("*.log")), value, later_ms=1000)
    cluster = the_cluster(node)
    assert cluster.end_offset == end + 1
    assert absent_brokers(cluster)[12] is how


def test_a_broker_that_led_nothing_when_it_was_fenced_may_have_been_stopped_in_order() -> None:
    """Kafka 4.1.2 fences such a broker at once when it asks for its shutdown. It writes no
    inControlledShutdown before, as it does for a broker that leads partitions."""
    other = a_partition(1, (12, 11, 13))
    gone = [broker_change(brokerId=one, fenced=1) for one in (11, 13)]
    cluster = cluster_after([*healthy(), other, *gone], vanished=frozenset({11, 13}))
    led, follows = cluster.partitions.values()

    def so() -> Iterable[VisibleChange]:
        yield VisibleChange(AT + 9, 5, (("brokers", 13, LIVE[13]),))
        yield VisibleChange(AT + 8, 5, (("partitions", ("t", 1), follows),))
        yield VisibleChange(AT + 4, 3, (("brokers", 11, LIVE[11]),))
        yield VisibleChange(AT + 3, 3, (("partitions", ("t", 0), led),))
        raise AssertionError("read further back than to the changes of the fencings")

    cluster = replace(cluster, idle_when_fenced=idle_when_fenced(cluster, so))
    assert absent_brokers(cluster) == {11: Absence.VANISHED, 13: Absence.IDLE}
    assert idle_when_fenced(cluster_after(healthy()), so) == frozenset()
    (finding,) = (one for one in judge_health(cluster) if one.rule is health.FENCED_BROKER)
    assert [one.what.partition(",")[0] for one in finding.subjects] == [
        "fenced without a shutdown",
        "fenced while it led no partition",
    ]
    assert verdict_on_state(cluster).headline == (
        "Broker 11 was fenced without a shutdown: it crashed or was cut off. Broker 13 was fenced "
        "while it led no partition: it was stopped, crashed or was cut off. They hold replicas."
    )
