"""What of two images' differences Kafka's own ways explain."""

from __future__ import annotations

import pytest

from replica.doctor.check.snapshot_validity import compare_images
from replica.metadata.image.image import differences
from replica.metadata.record import MetadataRecord, new_record
from tests.replica.metadata.image.made import after, broker, config, topic


def migration(state: int) -> MetadataRecord:
    return new_record("ZK_MIGRATION_STATE_RECORD", 0, {"zkMigrationState": state})


@pytest.mark.parametrize("state", [0, 2, 4])
def test_the_state_of_the_migration_from_zookeeper_is_no_state_of_kafka_4(state: int) -> None:
    """A node upgraded from Kafka 3 has the record in its log, and no state in its snapshots."""
    replay, snapshot = after(topic(), migration(state))[0], after(topic())[0]
    assert list(differences(snapshot, replay))
    for found in (compare_images(snapshot, replay), compare_images(replay, snapshot)):
        assert (found.orphans, found.dropped, found.others) == ([], [], [])


def test_two_states_of_the_migration_differ() -> None:
    before, done = after(migration(2))[0], after(migration(4))[0]
    (other,) = compare_images(before, done).others
    assert (other.kind, other.value_a, other.value_b) == (
        "zk_migration_state",
        '{"zkMigrationState":2}',
        '{"zkMigrationState":4}',
    )


def test_differences_other_than_the_migration_state_are_found() -> None:
    known = config("0.11", name="message.format.version")
    replay = after(topic(), migration(0), broker(), known)[0]
    found = compare_images(after(topic())[0], replay)
    assert [one.kind for one in found.others] == ["broker"]
    assert [one.kind for one in found.dropped] == ["config"]
