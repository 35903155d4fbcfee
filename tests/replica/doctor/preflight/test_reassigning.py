"""Reassignments: what Kafka refuses, what can't end, and what is worse afterwards."""

from __future__ import annotations

import json

import pytest

from replica.doctor.preflight.answer import ChangeSafety, Preflight
from replica.doctor.preflight.reassigning import reassign
from replica.doctor.preflight.reassignment_file import Assignment, assignments_in
from replica.errors import UsageError
from tests.replica.doctor.preflight.clusters import broker, cluster, partition


def asked(*replicas: int, of: object = None, **settings: object) -> Preflight:
    held = of if of is not None else cluster(partition(0, (1, 2)), **settings)  # type: ignore[arg-type]
    return reassign(held, [Assignment("orders", 0, replicas)])  # type: ignore[arg-type]


def test_moving_a_replica_to_a_live_broker_is_safe() -> None:
    found = asked(1, 3)
    assert found.answer is ChangeSafety.SAFE
    assert found.needs == ("1 replicas are copied: disk and network for them",)


@pytest.mark.parametrize(
    ("replicas", "complaint"),
    [
        ((), "empty assignment"),
        ((1, 1), "names a broker twice"),
        ((1, 9), "brokers [9] are not registered"),
    ],
)
def test_a_reassignment_that_kafka_refuses_is_unsafe(
    replicas: tuple[int, ...], complaint: str
) -> None:
    found = asked(*replicas)
    assert found.answer is ChangeSafety.UNSAFE
    assert complaint in found.reasons[0].detail


def test_topics_and_partitions_that_are_not_there_are_unsafe() -> None:
    held = cluster(partition(0, (1, 2)))
    for assignment in (Assignment("orders", 7, (1,)), Assignment("gone", 0, (1,))):
        assert reassign(held, [assignment]).answer is ChangeSafety.UNSAFE


def test_a_reassignment_cannot_end_while_a_new_replica_is_fenced() -> None:
    found = asked(1, 3, of=cluster(broker(3, fenced=True), partition(0, (1, 2))))
    assert "can't end before they are back" in found.reasons[0].detail


def test_nothing_can_be_copied_without_a_leader() -> None:
    found = asked(1, 3, of=cluster(partition(0, (1, 2), isr=())))
    assert found.answer is ChangeSafety.UNSAFE
    assert asked(2, 1, of=cluster(partition(0, (1, 2), isr=()))).answer is ChangeSafety.SAFE


def test_fewer_replicas_than_min_insync_replicas_are_unsafe() -> None:
    three = cluster(partition(0, (1, 2, 3)), min_isr=2)
    assert asked(1, of=three).answer is ChangeSafety.UNSAFE
    as_many = asked(1, 2, of=three)
    assert as_many.answer is ChangeSafety.UNSAFE
    assert as_many.reasons[0].detail == (
        "2 replicas, as many as min.insync.replicas: writes with acks=all end while any of them is "
        "away, as in each restart"
    )
    assert asked(1, 3, of=cluster(partition(0, (1, 2)), min_isr=2)).answer is ChangeSafety.SAFE
    assert asked(1, 2, of=cluster(partition(0, (1, 2, 3)))).answer is ChangeSafety.SAFE
    unknown = cluster(partition(0, (1, 2, 3)), min_isr=None)
    assert asked(1, 2, of=unknown).answer is ChangeSafety.UNKNOWN
    assert asked(3, 2, 1, of=unknown).answer is ChangeSafety.SAFE, "as many as there were"


def test_min_insync_replicas_above_the_replication_factor_count_as_that_factor() -> None:
    """Kafka: Partition.effectiveMinIsr is the replication factor at most."""
    config = {"resourceType": 2, "resourceName": "orders", "name": "min.insync.replicas"}
    strict = ("CONFIG_RECORD", 0, {**config, "value": "2"})
    found = asked(1, of=cluster(strict, partition(0, (1, 2))))
    assert found.answer is ChangeSafety.UNSAFE
    assert found.reasons[0].detail.endswith("Kafka would take records that have 1 copies")


def test_all_replicas_in_one_rack_are_unsafe_unless_they_were_before() -> None:
    racks = (broker(1, rack="a"), broker(2, rack="b"), broker(3, rack="a"))
    found = asked(1, 3, of=cluster(*racks, partition(0, (1, 2))))
    assert found.reasons[0].detail == "all of its replicas would be in rack a"
    assert asked(3, 1, of=cluster(*racks, partition(0, (1, 3)))).answer is ChangeSafety.SAFE


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "line 1 column 2"),
        ("[]", "expected"),
        ('{"version": 2, "partitions": []}', "version 2, expected 1"),
        ('{"version": 1, "partitions": []}', "there is nothing to reassign"),
        ('{"version": 1, "partitions": [3]}', "partitions[0]: expected an object"),
        ('{"version": 1, "partitions": [{"partition": 0}]}', "partitions[0].topic"),
        ('{"version": 1, "partitions": [{"topic": "t", "partition": "0"}]}', ".partition"),
        (
            '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [true]}]}',
            "partitions[0].replicas: expected broker ids",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as refused:
        assignments_in(text, "moves.json")
    assert str(refused.value).startswith("moves.json: ")
    assert complaint in str(refused.value)


def test_a_partition_that_is_there_twice_is_refused() -> None:
    one = {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["any"]}
    content = {"version": 1, "partitions": [one]}
    assert assignments_in(json.dumps(content), "f") == (Assignment("t", 0, (1,)),)
    with pytest.raises(UsageError, match="t-0 is there twice"):
        assignments_in(json.dumps({"version": 1, "partitions": [one, one]}), "f")
