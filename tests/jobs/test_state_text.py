"""What `kraftlake state --diff` prints for people."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.cli.asking.state import line
from replica.metadata.changes.named_changes import ChangeNamer, topic_names_around
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.image.versions import VersionedReplay
from tests.replica.metadata.image.made import broker, change, config, partition, topic


def lines(records: Sequence[ReplayedRecord]) -> list[str]:
    """Of the last record's changes."""
    replay, namer = VersionedReplay(), ChangeNamer()
    for offset, record in enumerate(records):
        writes = replay.apply(offset, record)
        names = topic_names_around(writes, replay.state.topics.values)
        told = list(namer.named(writes, names))
    return [" ".join(line(one).split()) for one in told]


def test_a_changed_field_is_shown_with_its_old_and_new_value() -> None:
    assert lines([topic(), partition(), change(isr=(2,), leader=2)]) == [
        "leader_changed orders-0 1 -> 2",
        "isr_changed orders-0 [1,2] -> [2]",
    ]


def test_an_entity_that_comes_is_told_by_its_name_or_its_only_value() -> None:
    assert lines([topic()]) == ["topic_created orders"]
    assert lines([config("1")]) == ['config_set topic orders: retention.ms "1"']
    assert lines([config("1"), config(None)]) == [
        'config_removed topic orders: retention.ms was "1"'
    ]


def test_of_an_entity_that_stays_the_differing_fields_are_told() -> None:
    found = lines([broker(rack="a"), broker(epoch=12, rack="b")])
    assert found == ['broker_registered broker 1 brokerEpoch 10 -> 12, rack "a" -> "b"']
