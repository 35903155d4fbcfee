"""Folders of partitions against the metadata: which a broker puts aside, which it lacks."""

from __future__ import annotations

from typing import Any

import pytest

from replica.doctor.check.rule import Finding
from replica.doctor.health.partition_folders import judge_log_directories
from replica.format.partition_folders import BrokerLogDirectory, FolderState, PartitionFolder
from replica.message.primitives import uuid_text
from replica.model.keys import ZERO_UUID, ReplicaId
from tests.replica.doctor.health.clusters import a_partition, cluster_after, directory_of, healthy
from tests.replica.metadata.image.made import TOPIC

CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"
OTHER_TOPIC, OTHER_DIRECTORY = uuid_text(b"another-topic-id"), uuid_text(b"another-disk-id-")


def _folder(
    topic: str = "orders",
    partition: int = 0,
    topic_id: str | None = TOPIC,
    state: FolderState = FolderState.CURRENT,
    disk: str = "a",
) -> PartitionFolder:
    return PartitionFolder(f"/{disk}/{topic}-{partition}", topic, partition, state, topic_id, 2048)


def _directory(
    *folders: PartitionFolder,
    broker_id: int = 11,
    directory_id: str | None = None,
    foreign: tuple[str, ...] = (),
    cluster_id: str = CLUSTER,
) -> BrokerLogDirectory:
    replica = ReplicaId(cluster_id, broker_id, directory_id or directory_of(broker_id))
    return BrokerLogDirectory(f"/disk-{broker_id}", replica, folders, foreign)


def _judged(
    *directories: BrokerLogDirectory, records: tuple[Any, ...] = (), all_given: bool = True
) -> dict[str, Finding]:
    cluster = cluster_after([*healthy(), *records], cluster_id=CLUSTER)
    found = judge_log_directories(cluster, directories, all_given=all_given)
    return {one.rule.id: one for one in found}


def _told(finding: Finding) -> list[tuple[str, str]]:
    return [(one.name, one.what) for one in finding.subjects]


def test_a_folder_that_the_metadata_assigns_is_no_finding() -> None:
    assert _judged(_directory(_folder())) == {}


@pytest.mark.parametrize(
    ("folder", "broker_id", "why"),
    [
        (_folder(topic_id=OTHER_TOPIC), 11, f"the topic of that name has id {TOPIC}"),
        (_folder("gone", topic_id=OTHER_TOPIC), 11, "no such topic"),
        (_folder(partition=7), 11, "topic orders has no partition 7"),
        (_folder(), 99, "the replicas are on brokers 11, 12, 13"),
        (_folder(topic_id=OTHER_TOPIC, state=FolderState.FUTURE), 11, "the topic of that name"),
    ],
)
def test_a_folder_that_it_does_not_assign_is_stray(
    folder: PartitionFolder, broker_id: int, why: str
) -> None:
    found = _judged(_directory(folder, broker_id=broker_id), all_given=False)
    assert list(found) == ["stray-partition"]
    ((name, what),) = _told(found["stray-partition"])
    assert name == f"broker {broker_id}"
    assert why in what
    assert found["stray-partition"].message == f"1 folder, 2.0 KiB: 1 on broker {broker_id}"


def test_a_folder_without_a_topic_id_is_stray_too() -> None:
    found = _judged(_directory(_folder(topic_id=None)), all_given=False)
    assert list(found) == ["partition-without-topic-id"]


@pytest.mark.parametrize("state", [FolderState.DELETED, FolderState.STRAY])
def test_what_kafka_has_put_aside_is_no_finding(state: FolderState) -> None:
    put_aside = _folder(topic_id=OTHER_TOPIC, state=state)
    assert _judged(_directory(_folder(), put_aside)) == {}


def test_a_partition_in_two_directories_of_a_broker_keeps_it_from_starting() -> None:
    first = _directory(_folder())
    second = _directory(_folder(disk="b"), directory_id=OTHER_DIRECTORY)
    found = _judged(first, second)
    assert _told(found["partition-twice"]) == [("orders-0", "/a/orders-0 and /b/orders-0")]
    future = _directory(_folder(disk="b", state=FolderState.FUTURE), directory_id=OTHER_DIRECTORY)
    assert _judged(first, future) == {}
    stray = _directory(_folder(disk="b", topic_id=OTHER_TOPIC), directory_id=OTHER_DIRECTORY)
    assert list(_judged(first, stray)) == ["stray-partition"]
    on_another_broker = _directory(_folder(disk="b"), broker_id=12)
    assert _judged(first, on_another_broker) == {}


def test_a_folder_that_is_no_partition_keeps_a_broker_from_starting() -> None:
    found = _judged(_directory(_folder(), foreign=("/a/lost+found",)))
    assert _told(found["foreign-folder"]) == [("broker 11", "/a/lost+found")]
    of_a_controller = _directory(broker_id=1, foreign=("/a/lost+found",))
    assert _judged(of_a_controller) == {}


@pytest.mark.parametrize(
    ("isr", "what"),
    [((11,), "on broker 11, the only in-sync replica"), ((11, 12), "on broker 11")],
)
def test_a_replica_without_a_folder_is_told_where_all_directories_are_given(
    isr: tuple[int, ...], what: str
) -> None:
    more = (a_partition(1, isr=isr),)
    found = _judged(_directory(_folder()), records=more)
    assert _told(found["replica-without-folder"]) == [("orders-1", what)]
    assert _judged(_directory(_folder()), records=more, all_given=False) == {}
    message = found["replica-without-folder"].message
    assert message.startswith("1 replica: 1 on broker 11")
    loses = "for 1 of them no other replica has the records: the broker would lead with an empty"
    assert (loses in message) is (isr == (11,))


def test_a_replica_in_a_directory_that_was_not_given_is_not_missed() -> None:
    directories = (OTHER_DIRECTORY, directory_of(12), directory_of(13))
    more = (a_partition(1, directories=directories),)
    assert _judged(_directory(_folder()), records=more) == {}


def test_a_replica_of_which_no_directory_is_named_is_missed_in_all() -> None:
    more = (a_partition(1, directories=(ZERO_UUID,) * 3),)
    found = _judged(_directory(_folder()), records=more)
    assert list(found) == ["replica-without-folder"]


def test_a_replica_in_another_directory_than_the_metadata_says_is_a_note() -> None:
    moved = _directory(_folder(disk="b"), directory_id=OTHER_DIRECTORY)
    found = _judged(_directory(), moved)
    assert list(found) == ["replica-in-another-directory"]
    ((name, what),) = _told(found["replica-in-another-directory"])
    assert name == "orders-0"
    assert directory_of(11) in what


def test_directories_of_another_cluster_are_passed_over() -> None:
    other = _directory(_folder(topic_id=OTHER_TOPIC), cluster_id=OTHER_DIRECTORY)
    assert _judged(other) == {}
