"""When a migration from ZooKeeper may end, what is left to do, and up to when one can go back."""

from __future__ import annotations

import pytest

from replica.doctor.preflight.answer import ChangeSafety, Preflight
from replica.doctor.preflight.migrating import finish_migration
from replica.metadata.image.settings import MIGRATION, NO_MIGRATION, POST_MIGRATION, PRE_MIGRATION
from tests.replica.doctor.preflight.clusters import Record, broker, cluster, partition


def _state(state: int) -> Record:
    return ("ZK_MIGRATION_STATE_RECORD", 0, {"zkMigrationState": state})


def _of_zookeeper(number: int) -> Record:
    name, version, fields = broker(number)
    return name, version, {**fields, "isMigratingZkBroker": True}


def _controller(number: int, *, ready: bool) -> Record:
    fields = {"controllerId": number, "zkMigrationReady": ready}
    return ("REGISTER_CONTROLLER_RECORD", 0, fields)


def _unsafe(found: Preflight) -> list[tuple[str, str]]:
    return [(one.subject, one.detail) for one in found.reasons if one.answer is ChangeSafety.UNSAFE]


def _notes(found: Preflight) -> dict[str, str]:
    told = (ChangeSafety.SAFE, ChangeSafety.NOTHING_TO_DO)
    return {one.subject: one.detail for one in found.reasons if one.answer in told}


@pytest.mark.parametrize("records", [(), (_state(NO_MIGRATION),)])
def test_a_cluster_without_a_migration_has_nothing_to_end(records: tuple[Record, ...]) -> None:
    found = finish_migration(cluster(*records))
    assert found.answer is ChangeSafety.NOTHING_TO_DO
    assert "nothing to end" in _notes(found)["ZooKeeper migration"]


def test_before_the_copy_it_may_not_end() -> None:
    found = finish_migration(cluster(_state(PRE_MIGRATION), _of_zookeeper(2)))
    ((subject, detail),) = _unsafe(found)
    assert subject == "ZooKeeper migration"
    assert "PRE_MIGRATION: nothing is copied yet" in detail
    assert "Still waiting for ZK brokers" in _notes(found)["broker 2"]


def test_a_broker_of_zookeeper_would_be_cut_off() -> None:
    found = finish_migration(cluster(_state(MIGRATION), _of_zookeeper(3)))
    assert [subject for subject, _ in _unsafe(found)] == ["broker 3"]
    assert found.answer is ChangeSafety.UNSAFE


def test_a_broker_that_holds_replicas_and_never_registered_would_be_cut_off() -> None:
    found = finish_migration(cluster(_state(MIGRATION), partition(0, (1, 9)), partition(1, (9,))))
    ((subject, detail),) = _unsafe(found)
    assert subject == "broker 9"
    assert detail.startswith("holds 2 replicas, and has not registered with KRaft")


def test_with_kraft_brokers_alone_it_may_end_and_the_answer_says_what_is_left() -> None:
    records = _controller(4, ready=True), _controller(5, ready=False), _controller(6, ready=True)
    found = finish_migration(cluster(_state(MIGRATION), *records, end_offset=40))
    assert found.answer is ChangeSafety.SAFE
    notes = _notes(found)
    assert "restart each without zookeeper.connect" in notes["controllers 4 and 6"]
    assert "kraft_metadata_offset), up to offset 39" in notes["ZooKeeper migration"]
    assert "may follow once the migration has ended" in notes["Kafka 4"]
    assert "nobody can go back" in found.needs[0]


def test_once_it_has_ended_only_a_broker_that_was_left_is_told() -> None:
    assert finish_migration(cluster(_state(POST_MIGRATION))).answer is ChangeSafety.NOTHING_TO_DO
    found = finish_migration(cluster(_state(POST_MIGRATION), _of_zookeeper(1)))
    assert [subject for subject, _ in _unsafe(found)] == ["broker 1"]
    assert "nobody can go back" in _notes(found)["ZooKeeper migration"]


def test_a_state_that_no_release_knows_is_unsafe() -> None:
    assert finish_migration(cluster(_state(7))).answer is ChangeSafety.UNSAFE
