"""Replicas that lead, or may lead, from another log directory than they had before."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from replica.doctor.health.judging import judge_health
from replica.doctor.health.new_directories import led_from_new_directories
from replica.doctor.health.rewound import VisibleChange
from replica.model.keys import NO_NODE
from tests.replica.doctor.health.clusters import (
    a_broker,
    a_partition,
    cluster_after,
    directory_of,
    healthy,
    names,
)
from tests.replica.doctor.health.test_recorded import the_cluster
from tests.replica.doctor.timeline.test_events import (
    OTHER,
    change,
    partition,
    record,
    registers,
)
from tests.replica.metadata.image.made import TOPIC

RECORDED = Path(__file__).parents[3] / "data/kafka-4.1.1-dynamic/final/3"
KEY = (TOPIC, 0)
NEW = "newDirectoryOf11AAAAAA"
UNCLEAN = a_partition(
    isr=(11,), leaderRecoveryState=1, directories=(NEW, directory_of(12), directory_of(13))
)
NOW = cluster_after([*healthy(), a_broker(11, logDirs=(NEW,)), UNCLEAN])
ELECTED = NOW.partitions[KEY]
ASSIGNED = ELECTED._replace(isr=(), leader=-1, leader_recovery_state=0)
BEFORE = ASSIGNED._replace(directories=tuple(directory_of(one) for one in (11, 12, 13)))


def found(*before: object) -> frozenset[tuple[str, int]]:
    """before: the partition before each step, newest step first."""
    steps = [VisibleChange(9, 9, (("partitions", KEY, one),)) for one in before]
    return led_from_new_directories(NOW, lambda: steps)


def test_a_leader_whose_former_directory_is_gone_may_have_begun_empty() -> None:
    assert found(ASSIGNED, BEFORE) == {KEY}
    assert found(ASSIGNED) == frozenset(), "nobody knows in which directory it was"
    assert found(ASSIGNED, None, BEFORE) == frozenset(), "another topic with this id"


def test_a_replica_that_followed_a_leader_since_has_its_records() -> None:
    followed = ASSIGNED._replace(leader=12, isr=(12, 11))
    assert found(ASSIGNED, followed, BEFORE) == frozenset()


@pytest.mark.parametrize("former", [NEW, "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAA"])
def test_a_directory_that_is_online_or_was_not_named_is_not_lost(former: str) -> None:
    moved = BEFORE._replace(directories=(former, *BEFORE.directories[1:]))
    assert found(ASSIGNED, moved) == frozenset()


@pytest.mark.parametrize("leader", [11, NO_NODE])
def test_a_clean_election_in_a_new_directory_loses_as_much(leader: int) -> None:
    """Without eligible leader replicas a broker stays in sync while it is down, whatever its disk
    has when it is back."""
    alone = a_partition(0, (11,), leader=leader, leaderEpoch=3, directories=(NEW,))
    cluster = cluster_after([*healthy(), a_broker(11, logDirs=(NEW,)), alone])
    now = cluster.partitions[KEY]
    former = now._replace(leader=NO_NODE, directories=(directory_of(11),))
    steps = [VisibleChange(9, 9, (("partitions", KEY, former),))]
    assert led_from_new_directories(cluster, lambda: steps) == {KEY}
    followed = now._replace(leader=12, isr=(11, 12))
    steps.insert(0, VisibleChange(9, 9, (("partitions", KEY, followed),)))
    assert not led_from_new_directories(cluster, lambda: steps)


def test_a_directory_that_went_after_the_replica_had_left_it_had_nothing() -> None:
    """An operator moved the replica to another disk, and took the first one away then."""
    now = cluster_after([*healthy(), a_broker(11, logDirs=(NEW,)), UNCLEAN])
    both = {**now.values("brokers")[11], "logDirs": (NEW, directory_of(11))}
    steps = [
        VisibleChange(9, 9, (("brokers", 11, both),)),
        VisibleChange(8, 8, (("partitions", KEY, BEFORE),)),
    ]
    assert not led_from_new_directories(now, lambda: steps)


def test_steps_are_read_only_where_one_replica_may_have_begun_again() -> None:
    def steps() -> list[VisibleChange]:
        raise AssertionError("read")

    assert led_from_new_directories(cluster_after(healthy()), steps) == frozenset()


def test_an_only_replica_on_a_new_disk_is_no_note() -> None:
    alone = a_partition(0, (11,), leaderRecoveryState=1, directories=(NEW,))
    cluster = cluster_after([*healthy(), a_broker(11, logDirs=(NEW,)), alone])
    rules = {one.rule.id for one in judge_health(cluster)}
    assert "unclean-only-replica" in rules
    replaced = replace(cluster, led_from_new_directories=frozenset({KEY}))
    found = {one.rule.id: one for one in judge_health(replaced)}
    assert "unclean-only-replica" not in found
    (subject,) = found["leader-in-new-directory"].subjects
    told = "broker 11 leads it, whose former log directory is gone; replicas [11]"
    assert subject.what == told


@pytest.mark.parametrize("is_replaced", [True, False])
def test_the_log_of_a_broker_that_was_installed_anew(tmp_path: Path, is_replaced: bool) -> None:
    node = Path(shutil.copytree(RECORDED, tmp_path / "node"))
    former = directory_of(21) if is_replaced else OTHER
    registers(node, former)
    record(node, "TOPIC_RECORD", name="moved", topicId=TOPIC)
    for number, replicas in enumerate([(21,), (21, 22)]):
        directories = (former, directory_of(22))[: len(replicas)]
        partition(node, number, former, replicas=replicas, directories=directories)
        change(node, number, leader=-1, isr=())
    registers(node, OTHER, epoch=5001)
    for number, directories in enumerate([(OTHER,), (OTHER, directory_of(22))]):
        change(node, number, directories=directories)
        change(node, number, leader=21, isr=(21,), leaderRecoveryState=1)
    rules = {one.rule.id: one for one in judge_health(the_cluster(node))}
    assert "unclean-leader" in rules
    if is_replaced:
        told = names(rules["leader-in-new-directory"])
        assert told == ["moved-0", "moved-1"]
    else:
        assert "leader-in-new-directory" not in rules
        assert names(rules["unclean-only-replica"]) == ["moved-0"]
