"""Which brokers must have been alive when an entity changed."""

from __future__ import annotations

import pytest

from replica.metadata.changes.brokers_seen import seen_by
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.image.versions import VersionedReplay
from replica.metadata.record import new_record
from tests.replica.metadata.image.made import (
    broker,
    broker_change,
    change,
    config,
    partition,
    topic,
)

UNREGISTER = new_record("UNREGISTER_BROKER_RECORD", 0, {"brokerId": 1, "brokerEpoch": 10})


def alive(*records: ReplayedRecord) -> set[int]:
    """The brokers that the writes of the last record show alive."""
    replay = VersionedReplay()
    written = [replay.apply(offset, record) for offset, record in enumerate(records)][-1]
    assert written
    return {
        one
        for write in written
        for one in seen_by(write.kind.table, write.key, write.old, write.new)
    }


def test_a_leader_that_enlarges_its_isr_is_alive_and_so_are_those_it_adds() -> None:
    """It asks for this with AlterPartition, once the followers have caught up (KIP-497)."""
    small = partition(replicas=(1, 2, 3, 4), isr=(1, 3))
    assert alive(topic(), small, change(isr=(1, 2, 3, 4))) == {1, 2, 4}
    assert alive(topic(), small, change(isr=(1, 2))) == {1, 2}


@pytest.mark.parametrize(
    "by_the_controller",
    [
        change(isr=(1,)),  # it fences broker 2
        change(isr=(2,), leader=2),
        change(isr=(3,), leader=3),  # an unclean election
        change(isr=(1, 2), leader=-1),
        change(leader=2),
        change(replicas=(1, 2, 3), addingReplicas=(3,)),
    ],
)
def test_what_the_controller_changes_by_itself_shows_no_broker_alive(
    by_the_controller: ReplayedRecord,
) -> None:
    assert alive(topic(), partition(), by_the_controller) == set()


def test_no_leader_added_the_replicas_of_a_partition_without_one() -> None:
    lost = change(isr=(1,), leader=-1)
    assert alive(topic(), partition(), lost, change(isr=(1, 2))) == set()


def test_the_first_isr_of_a_partition_is_chosen_by_the_controller() -> None:
    assert alive(topic(), partition()) == set()


@pytest.mark.parametrize(
    "by_the_broker",
    [
        broker(epoch=30, fenced=True),
        broker_change(fenced=-1),
        broker_change(inControlledShutdown=1),
        broker_change(logDirs=("a" * 22,)),
    ],
)
def test_a_broker_is_alive_that_registers_or_whose_heartbeat_the_controller_answers(
    by_the_broker: ReplayedRecord,
) -> None:
    assert alive(broker(fenced=True)) == {1}
    assert alive(broker(fenced=True), by_the_broker) == {1}


@pytest.mark.parametrize("gone", [broker_change(fenced=1), UNREGISTER])
def test_a_broker_that_is_fenced_or_unregistered_may_be_dead(gone: ReplayedRecord) -> None:
    assert alive(broker(fenced=False), gone) == set()


def test_a_config_of_a_broker_shows_nothing_of_it() -> None:
    about_it = config("1", resource="1", resource_type=4)
    assert alive(about_it) == alive(about_it, config("2", resource="1", resource_type=4)) == set()
