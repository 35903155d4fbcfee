"""Equality and differences of images."""

from __future__ import annotations

import pickle

import pytest

from replica.metadata.image.image import EMPTY, differences, dropped_configs, orphan_topic_configs
from replica.metadata.record import MetadataRecord
from tests.replica.metadata.image.made import TOPIC, after, broker, config, partition, topic


def test_images_are_equal_by_content_whatever_the_offsets() -> None:
    one, _ = after(topic(), broker())
    other, _ = after(broker(), topic())
    assert one == other
    assert list(one.entities()) != list(other.entities())
    assert not list(differences(one, other))


def test_differences_name_kind_key_and_both_values_in_canonical_order() -> None:
    one, _ = after(topic(), config("1"), broker(10), broker(9))
    other, _ = after(topic(), config("2"), partition())
    found = list(differences(one, other))
    assert [(d.kind, d.key) for d in found] == [
        ("partition", f"{TOPIC}:0"),
        ("config", '[2,"orders","retention.ms"]'),
        ("broker", "9"),
        ("broker", "10"),
    ]
    assert found[0].value_a is None
    value = '{"name":"retention.ms","resourceName":"orders","resourceType":2,"value":"1"}'
    assert found[1][2:] == (value, value.replace("1", "2"))
    assert found[2].value_b is None


def test_a_config_of_a_removed_topic_that_only_the_snapshot_holds_is_an_orphan() -> None:
    snapshot, _ = after(config("1"))
    assert orphan_topic_configs(snapshot, EMPTY) == tuple(differences(snapshot, EMPTY))


@pytest.mark.parametrize(
    ("in_snapshot", "in_replay"),
    [
        ((), (config("1"),)),
        ((config("1"),), (config("2"),)),
        ((config("1"), topic()), ()),
        ((config("1"),), (topic(),)),
        ((config("1", resource="1", resource_type=4),), ()),
        ((broker(),), ()),
    ],
)
def test_other_differences_are_no_orphans(in_snapshot, in_replay) -> None:  # type: ignore[no-untyped-def]
    snapshot, replay = after(*in_snapshot)[0], after(*in_replay)[0]
    assert list(differences(snapshot, replay))
    assert orphan_topic_configs(snapshot, replay) == ()


@pytest.mark.parametrize(
    ("left_out", "is_explained"),
    [
        (config("0.11", name="message.format.version"), True),
        (config("1", name="retention.ms"), False),
        (config("1", name="no.such.config", resource="1", resource_type=4), False),
        (config("INFO", name="kafka", resource="1", resource_type=8), True),
        (config("1000", name="interval.ms", resource="all", resource_type=16), False),
        (config("1", name="share.delivery.count.limit", resource="g", resource_type=32), True),
    ],
)
def test_a_config_that_the_log_holds_and_kafka_4_2_does_not_know_is_left_out_of_snapshots(
    left_out: MetadataRecord, is_explained: bool
) -> None:
    replay = after(topic(), left_out)[0]
    snapshot = after(topic())[0]
    found = tuple(differences(snapshot, replay))
    assert len(found) == 1
    assert dropped_configs(snapshot, replay) == (found if is_explained else ())
    assert dropped_configs(replay, snapshot) == ()


def test_no_image_equals_something_else() -> None:
    assert EMPTY != "an image"
    with pytest.raises(TypeError):
        hash(EMPTY)


def test_an_image_can_be_pickled() -> None:
    image, _ = after(topic(), partition(), config("1"), broker())
    copy = pickle.loads(pickle.dumps(image))  # noqa: S301, our own bytes
    assert copy == image
    assert list(copy.entities()) == list(image.entities())
