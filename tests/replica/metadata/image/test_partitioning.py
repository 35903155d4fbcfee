"""The keys by which a log is split. test_properties.py replays logs split by them."""

from __future__ import annotations

from replica.format.control import KRaftVersion, KRaftVoters, LeaderChange
from replica.metadata.image.partitioning import BROADCAST, PartitionKey, key_of, owner_of
from replica.metadata.record import new_record
from replica.metadata.records import RECORDS_BY_NAME
from tests.replica.metadata.image.made import (
    TOPIC,
    after,
    broker,
    broker_change,
    change,
    config,
    partition,
    remove_topic,
    topic,
)


def test_the_records_of_an_entity_share_its_key() -> None:
    of_topic = PartitionKey("topic", TOPIC)
    assert {key_of(r) for r in (topic(), partition(), change(), remove_topic())} == {of_topic}
    of_broker = PartitionKey("broker", "1")
    assert {key_of(r) for r in (broker(), broker_change())} == {of_broker}
    image, _ = after(topic(), partition(), broker(), config("1"))
    assert {owner_of(entity) for entity in image.entities()} == {
        of_topic,
        of_broker,
        key_of(config("2")),
    }


def test_control_records_have_the_key_of_what_they_set() -> None:
    voters, version = KRaftVoters(0, ()), KRaftVersion(0, 1)
    image, _ = after(voters, version)
    assert [owner_of(e) for e in image.entities()] == [key_of(voters), key_of(version)]
    assert key_of(LeaderChange(0, 1, (), ())) == PartitionKey("", "")


def test_records_without_state_have_no_family() -> None:
    stateless = {
        name
        for name, schema in RECORDS_BY_NAME.items()
        if not key_of(new_record(name, schema.newest, {})).family
    }
    assert stateless == {
        "NO_OP_RECORD",
        "BEGIN_TRANSACTION_RECORD",
        "END_TRANSACTION_RECORD",
        "ABORT_TRANSACTION_RECORD",
    }


def test_all_broadcast_names_are_record_types() -> None:
    assert RECORDS_BY_NAME.keys() >= BROADCAST
