"""What of an image a new cluster begins with, and what is told to be different."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from replica.doctor.restore.checkpoint import checkpoint
from replica.doctor.restore.plan import RestorePlan, plan_restore
from replica.errors import UsageError
from replica.format.record import records_of
from replica.format.segment import scan
from replica.message.schema import Value
from replica.metadata.image.image import Image
from replica.metadata.image.replay import Replay, meaning
from replica.metadata.record import new_record
from replica.model.keys import ZERO_UUID

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAFQ"
DIRECTORY = "AAAAAAAAAAAAAAAAAAAAKg"


def image_of(*records: tuple[str, int, Mapping[str, Value]], level: int = 27) -> Image:
    replay = Replay()
    first = ("FEATURE_LEVEL_RECORD", 0, {"name": "metadata.version", "featureLevel": level})
    for offset, (name, version, fields) in enumerate((first, *records)):
        assert replay.apply(offset, new_record(name, version, fields)) is None
    return replay.image()


def with_topic(**fields: Value) -> tuple[tuple[str, int, Mapping[str, Value]], ...]:
    partition: dict[str, Value] = {
        "partitionId": 0,
        "topicId": TOPIC_ID,
        "replicas": (1, 2, 3),
        "isr": (1, 2),
        "leader": 2,
        "leaderEpoch": 7,
        "partitionEpoch": 9,
        "directories": (DIRECTORY, DIRECTORY, DIRECTORY),
        **fields,
    }
    return (
        ("TOPIC_RECORD", 0, {"name": "orders", "topicId": TOPIC_ID}),
        ("PARTITION_RECORD", 2, partition),
    )


def partition_of(plan: RestorePlan) -> Any:
    return plan.image.tables["partitions"].values[TOPIC_ID, 0]


def details(plan: RestorePlan, entity: str) -> list[str]:
    return [one.detail for one in plan.changes if one.entity == entity]


def test_a_partition_keeps_its_replicas_and_isr_and_has_no_leader_yet() -> None:
    found = partition_of(plan_restore(image_of(*with_topic()), "4.1", {}))
    assert (found.replicas, found.isr) == ((1, 2, 3), (1, 2))
    assert (found.leader, found.leader_epoch, found.partition_epoch) == (-1, 8, 10)
    assert found.directories == (ZERO_UUID,) * 3


def test_brokers_get_the_ids_that_are_named_for_them() -> None:
    config = {"resourceType": 4, "resourceName": "2", "name": "log.retention.ms", "value": "1"}
    image = image_of(*with_topic(), ("CONFIG_RECORD", 0, config))
    plan = plan_restore(image, "4.1", {1: 11, 2: 12})
    assert partition_of(plan).replicas == (11, 12, 3)
    assert partition_of(plan).isr == (11, 12)
    assert list(plan.image.tables["configs"].values) == [(4, "12", "log.retention.ms")]


def test_two_brokers_of_one_id_are_refused() -> None:
    with pytest.raises(UsageError, match="brokers 1 and 2 would both be broker 1"):
        plan_restore(image_of(*with_topic()), "4.1", {2: 1})


def test_a_reassignment_is_taken_back() -> None:
    moving = with_topic(addingReplicas=(3,), removingReplicas=(1,), isr=(1, 3))
    plan = plan_restore(image_of(*moving), "4.1", {})
    assert partition_of(plan).replicas == (1, 2)
    assert partition_of(plan).isr == (1,)
    assert any("a reassignment was under way" in detail for detail in details(plan, "partition"))


def test_without_an_in_sync_replica_any_may_lead_and_that_is_told() -> None:
    plan = plan_restore(image_of(*with_topic(isr=())), "4.1", {})
    assert partition_of(plan).isr == (1, 2, 3)
    assert any("any of them may become the leader" in d for d in details(plan, "partition"))


def test_registrations_tokens_and_orphan_configs_stay_behind() -> None:
    broker = {"brokerId": 1, "brokerEpoch": 5}
    token = {"owner": "User:a", "requester": "User:a", "tokenId": "t", "maxTimestamp": 1}
    orphan = {"resourceType": 2, "resourceName": "gone", "name": "retention.ms", "value": "1"}
    image = image_of(
        ("REGISTER_BROKER_RECORD", 3, broker),
        ("DELEGATION_TOKEN_RECORD", 0, token),
        ("CONFIG_RECORD", 0, orphan),
    )
    plan = plan_restore(image, "4.1", {})
    assert [record.type for record in plan.records()] == ["FEATURE_LEVEL_RECORD"]
    assert details(plan, "broker") == ["left out: brokers register themselves when they start"]
    assert details(plan, "config") == ["left out: of a topic that doesn't exist"]
    assert len(details(plan, "delegation_token")) == 1


def test_redacted_values_stay_behind() -> None:
    config = {"resourceType": 4, "resourceName": "", "name": "ssl.key.password", "value": "***:0f"}
    scram = {"name": "a", "mechanism": 1, "salt": b"***:0f", "storedKey": b"", "serverKey": b""}
    image = image_of(("CONFIG_RECORD", 0, config), ("USER_SCRAM_CREDENTIAL_RECORD", 0, {**scram}))
    plan = plan_restore(image, "4.1", {})
    assert len(plan.records()) == 1
    assert details(plan, "scram") == [
        "left out: the source has it redacted: set the user's password again"
    ]


def test_eligible_leader_replicas_are_to_be_finalized_afterwards() -> None:
    elr = {"name": "eligible.leader.replicas.version", "featureLevel": 1}
    image = image_of(
        ("FEATURE_LEVEL_RECORD", 0, elr), *with_topic(eligibleLeaderReplicas=(3,), isr=(1,))
    )
    plan = plan_restore(image, "4.1", {})
    assert list(plan.image.tables["features"].values) == ["metadata.version"]
    assert partition_of(plan).elr == ()
    assert any("kafka-features upgrade" in detail for detail in details(plan, "feature"))


@pytest.mark.parametrize(("level", "release"), [(33, "4.3"), (27, "3.9"), (20, "3.7")])
def test_a_release_that_does_not_know_the_metadata_version_is_refused(
    level: int, release: str
) -> None:
    with pytest.raises(UsageError, match="restore to the release that the cluster ran"):
        plan_restore(image_of(level=level), release, {})


def test_an_image_without_a_metadata_version_is_refused() -> None:
    with pytest.raises(UsageError, match=r"has no metadata\.version"):
        plan_restore(Replay().image(), "4.1", {})


def test_the_checkpoint_holds_the_records_between_header_and_footer() -> None:
    plan = plan_restore(image_of(*with_topic()), "4.1", {})
    data = checkpoint(plan.records() * 700, 1_700_000_000_000)
    batches = scan(data).batches
    assert all(batch.crc_valid for batch in batches)
    assert [batches[0].header.is_control, batches[-1].header.is_control] == [True, True]
    replay, offsets = Replay(), []
    for batch in batches:
        whole = data[batch.position : batch.position + batch.header.size_bytes]
        assert batch.header.record_count <= 500
        for record in records_of(batch.header, whole):
            offsets.append(record.offset)
            replay.apply(record.offset, meaning(record, is_control=batch.header.is_control))
    assert offsets == list(range(700 * 3 + 2))
    assert replay.image() == plan.image
