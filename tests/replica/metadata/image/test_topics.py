"""Topics and partitions: what each record does to them, and when it is refused."""

from __future__ import annotations

import pytest

from replica.model.keys import ZERO_UUID
from tests.replica.metadata.image.made import (
    DIRECTORY,
    OTHER_DIRECTORY,
    OTHER_TOPIC,
    TOPIC,
    after,
    change,
    clear_elr,
    config,
    held,
    offsets,
    partition,
    remove_topic,
    the_partition,
    topic,
)

INT32_MAX = 2**31 - 1


def test_a_partition_is_told_with_every_field_of_the_newest_version() -> None:
    assert the_partition(partition(version=0)) == {
        "partitionId": 0,
        "topicId": TOPIC,
        "replicas": [1, 2],
        "isr": [1, 2],
        "removingReplicas": [],
        "addingReplicas": [],
        "leader": 1,
        "leaderRecoveryState": 0,
        "leaderEpoch": 5,
        "partitionEpoch": 7,
        "directories": [ZERO_UUID, ZERO_UUID],
        "eligibleLeaderReplicas": [],
        "lastKnownElr": [],
    }


def test_a_change_moves_the_partition_epoch_and_nothing_it_does_not_name() -> None:
    before = the_partition(partition())
    assert the_partition(partition(), change()) == {**before, "partitionEpoch": 8}


@pytest.mark.parametrize("leader", [2, 1, -1])
def test_any_leader_that_a_change_names_begins_a_leader_epoch(leader: int) -> None:
    changed = the_partition(partition(), change(leader=leader))
    assert (changed["leader"], changed["leaderEpoch"]) == (leader, 6)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("isr", [1, 2]),
        ("removingReplicas", [2]),
        ("addingReplicas", [1]),
        ("eligibleLeaderReplicas", [2]),
        ("lastKnownElr", [1]),
    ],
)
def test_null_leaves_a_list_and_an_empty_one_empties_it(field: str, value: list[int]) -> None:
    full = partition(**{field: tuple(value)})
    assert the_partition(full, change(**{field: None}))[field] == value
    assert the_partition(full, change(**{field: ()}))[field] == []


def test_epochs_wrap_as_int32() -> None:
    newest = partition(leaderEpoch=INT32_MAX, partitionEpoch=INT32_MAX)
    changed = the_partition(newest, change(leader=2))
    assert (changed["leaderEpoch"], changed["partitionEpoch"]) == (-INT32_MAX - 1,) * 2


def test_a_recovery_state_of_minus_one_is_no_change() -> None:
    recovering = partition(leaderRecoveryState=1)
    assert the_partition(recovering, change())["leaderRecoveryState"] == 1
    assert the_partition(recovering, change(leaderRecoveryState=0))["leaderRecoveryState"] == 0


def test_a_change_keeps_the_order_of_replicas_and_isr() -> None:
    changed = the_partition(partition(), change(isr=(2, 1), replicas=(2, 1)))
    assert (changed["replicas"], changed["isr"]) == ([2, 1], [2, 1])


def test_replicas_without_known_directories_get_the_zero_uuid_each() -> None:
    three = the_partition(partition(), change(replicas=(1, 2, 3)))
    assert three["directories"] == [ZERO_UUID] * 3
    cleared = partition(directories=(DIRECTORY, OTHER_DIRECTORY))
    assert the_partition(cleared, change(directories=()))["directories"] == [ZERO_UUID] * 2
    assert the_partition(cleared, change(directories=None))["directories"] == [
        DIRECTORY,
        OTHER_DIRECTORY,
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        change(directories=(DIRECTORY,)),
        change(replicas=(1, 2, 3), directories=(DIRECTORY, DIRECTORY)),
        change(replicas=(1, 2, 3), directories=(ZERO_UUID,)),
        change(replicas=(1,)),
    ],
)
def test_directories_of_a_wrong_length_refuse_the_change(wrong) -> None:  # type: ignore[no-untyped-def]
    good = partition(directories=(DIRECTORY, OTHER_DIRECTORY))
    image, (refusal,) = after(topic(), good, wrong)
    assert image == after(topic(), good)[0]
    assert refusal.because == (1,)
    assert "directories for" in refusal.reason


def test_zero_uuids_of_a_wrong_length_pass_where_the_replicas_stay() -> None:
    changed = the_partition(partition(), change(directories=(ZERO_UUID,) * 5))
    assert changed["directories"] == [ZERO_UUID] * 2


@pytest.mark.parametrize(
    "wrong",
    [
        partition(directories=(DIRECTORY,)),
        partition(directories=(ZERO_UUID,)),
        partition(leaderRecoveryState=7),
    ],
)
def test_a_registration_that_contradicts_itself_is_refused(wrong) -> None:  # type: ignore[no-untyped-def]
    image, (refusal,) = after(topic(), wrong)
    assert not held(image, "partition")
    assert refusal.record_type == "PARTITION_RECORD"


def test_clear_elr_names_a_topic_and_moves_only_partitions_that_have_some() -> None:
    elr = partition(eligibleLeaderReplicas=(2,), lastKnownElr=(1,))
    none = partition(partitionId=1)
    image, refusals = after(topic(), elr, none, clear_elr("orders"))
    first, second = held(image, "partition").values()
    assert not refusals
    assert (first["eligibleLeaderReplicas"], first["lastKnownElr"]) == ([], [])
    assert (first["partitionEpoch"], second["partitionEpoch"]) == (8, 7)
    assert offsets(image)["partition", f"{TOPIC}:1"] == 2


def test_a_topic_that_is_created_again_under_another_name_has_lost_the_first() -> None:
    image, (refusal,) = after(topic("a"), topic("b"), clear_elr("a"), clear_elr("b"))
    assert held(image, "topic") == {TOPIC: {"topicId": TOPIC, "name": "b"}}
    assert refusal.reason == "there is no topic named a"


def test_clear_elr_of_the_empty_name_means_every_topic() -> None:
    far = partition(topicId=OTHER_TOPIC, lastKnownElr=(1,))
    image, _ = after(topic(), topic("clicks", OTHER_TOPIC), far, clear_elr(""))
    assert held(image, "partition")[f"{OTHER_TOPIC}:0"]["lastKnownElr"] == []


def test_clear_elr_of_a_topic_that_is_gone_is_refused_and_names_the_removal() -> None:
    _, (refusal,) = after(topic(), remove_topic(), clear_elr("orders"))
    assert (refusal.offset, refusal.because) == (2, (1,))


def test_a_topic_name_that_another_topic_took_stays_when_the_first_topic_is_removed() -> None:
    elr = partition(topicId=OTHER_TOPIC, lastKnownElr=(1,))
    records = topic(), topic("orders", OTHER_TOPIC), elr, remove_topic(), clear_elr("orders")
    image, refusals = after(*records)
    assert not refusals
    assert held(image, "partition")[f"{OTHER_TOPIC}:0"]["lastKnownElr"] == []


def test_a_topic_id_that_exists_starts_empty_again() -> None:
    image, refusals = after(topic(), partition(), topic("renamed"))
    assert not refusals
    assert held(image, "topic") == {TOPIC: {"name": "renamed", "topicId": TOPIC}}
    assert not held(image, "partition")


def test_removing_a_topic_takes_its_partitions_and_its_configs() -> None:
    kept = config("1", resource="orders", resource_type=4), config("1", resource="clicks")
    image, _ = after(topic(), partition(), config("1"), *kept, remove_topic())
    assert [e.key for e in image.entities()] == [
        '[2,"clicks","retention.ms"]',
        '[4,"orders","retention.ms"]',
    ]


def test_a_broker_s_config_that_is_removed_leaves_the_topic_of_the_same_name_its_own() -> None:
    """A topic may be named 1, and broker and topic both have a compression.type."""
    of_topic, of_broker = (
        {"name": "compression.type", "resource": "1", "resource_type": code} for code in (2, 4)
    )
    records = topic("1"), config("zstd", **of_topic), config("lz4", **of_broker)
    image, _ = after(*records, config(None, **of_broker))
    assert list(held(image, "config")) == ['[2,"1","compression.type"]']
    assert not held(after(*records, config(None, **of_broker), remove_topic())[0], "config")


def test_records_of_an_unknown_topic_are_refused() -> None:
    _, refusals = after(partition(), change(), remove_topic())
    assert [r.offset for r in refusals] == [0, 1, 2]
    assert {r.reason for r in refusals} == {f"there is no topic {TOPIC}"}
    assert {r.because for r in refusals} == {()}


def test_a_refusal_names_the_removal_that_explains_it() -> None:
    _, refusals = after(topic(), partition(), remove_topic(), change(), remove_topic())
    assert [(r.offset, r.because) for r in refusals] == [(3, (2,)), (4, (2,))]


def test_a_change_of_a_partition_that_never_was_names_the_topic_s_creation() -> None:
    _, (refusal,) = after(topic(), partition(), change(partitionId=1))
    assert refusal.reason == f"topic {TOPIC} has no partition 1"
    assert refusal.because == (0,)


def test_an_entity_carries_the_offset_of_the_record_that_last_changed_it() -> None:
    image, _ = after(topic(), partition(), partition(partitionId=1), change(leader=2))
    assert offsets(image) == {
        ("topic", TOPIC): 0,
        ("partition", f"{TOPIC}:0"): 3,
        ("partition", f"{TOPIC}:1"): 2,
    }
