"""Versions of entities as typed changes, for every sequence of records and by example."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given

from replica.format.control import KRaftVersion
from replica.metadata.changes.catalogue import CHANGES
from replica.metadata.changes.named_changes import ChangeNamer, NamedChange, topic_names_around
from replica.metadata.changes.releases import RELEASES
from replica.metadata.image.image import KINDS
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.image.versions import VersionedReplay
from tests.replica.metadata.image.made import (
    DIRECTORY,
    OTHER_TOPIC,
    TOPIC,
    broker,
    broker_change,
    change,
    config,
    feature,
    partition,
    remove_topic,
    topic,
)
from tests.replica.metadata.image.test_properties import SEEDS, VOTERS, drawn

TYPES = {one.name: one for one in CHANGES}
LEVELS = {name: level for level, name in RELEASES.items()}
EPOCHS = {"leaderEpoch", "partitionEpoch"}

State = dict[tuple[str, str], dict[str, Any]]


def told(records: Iterable[ReplayedRecord]) -> tuple[list[NamedChange], VersionedReplay]:
    replay, namer, found = VersionedReplay(), ChangeNamer(), []
    for offset, record in enumerate(records):
        writes = replay.apply(offset, record)
        found += namer.named(writes, topic_names_around(writes, replay.state.topics.values))
    return found, replay


def test_the_names_around_a_record_hold_the_topic_that_it_deletes() -> None:
    replay = VersionedReplay()
    replay.apply(0, topic("orders"))
    (deleted,) = replay.apply(1, remove_topic())
    assert dict(topic_names_around([deleted], {})) == {TOPIC: "orders"}


def changes(*records: ReplayedRecord) -> list[tuple[str, str, Any, Any]]:
    """(change, name, old, new) of the last record."""
    found, _ = told(records)
    parsed = [
        (one.change.change, one.name, *(None if t is None else json.loads(t) for t in _texts(one)))
        for one in found
        if one.write.offset == len(records) - 1
    ]
    return parsed


def _texts(one: NamedChange) -> tuple[str | None, str | None]:
    return one.change.old, one.change.new


def _fields(one: NamedChange, text: str | None) -> dict[str, Any] | None:
    """The names of the fields that `old` or `new` shows."""
    if text is None:
        return None
    value = json.loads(text)
    names = TYPES[one.change.change].value
    if one.change.change == "metadata_version_changed":
        value = LEVELS[value]
    return {names[0]: value} if len(names) == 1 else dict(value)


def _apply(state: State, one: NamedChange) -> None:
    kind, key = one.write.kind, one.write.kind.key_text(one.write.key)
    old, new = (_fields(one, text) for text in _texts(one))
    held = state.get((kind.name, key))
    if one.change.change == "topic_recreated":
        assert held is None
        assert old is not None
        assert old["topicId"] != key
    elif old is None:
        assert held is None
    else:
        assert held is not None
        assert {name: held[name] for name in old if name not in EPOCHS} == {
            name: value for name, value in old.items() if name not in EPOCHS
        }
    if new is None:
        del state[kind.name, key]
    else:
        state[kind.name, key] = {**(held or {}), **new}


@given(SEEDS)
def test_all_changes_one_after_the_other_make_the_state(seed: int) -> None:
    found, replay = told([*drawn(seed), KRaftVersion(0, 1), VOTERS, KRaftVersion(0, 2)])
    state: State = {}
    for one in found:
        assert TYPES[one.change.change].entity == one.write.kind.name
        assert one.change.old != one.change.new
        _apply(state, one)
    image = {(e.kind, e.key): json.loads(e.value) for e in replay.image().entities()}
    assert state.keys() == image.keys()
    for key, held in state.items():
        kept = {name: value for name, value in held.items() if name not in EPOCHS}
        assert kept == {name: image[key][name] for name in kept}, key


def test_the_sequences_hold_every_change_that_kafkas_records_can_make() -> None:
    found = {one.change.change for seed in range(120) for one in told(drawn(seed))[0]}
    never = {"topic_renamed", "broker_shutdown_ended", "broker_changed"}
    of_the_raft_layer = {"voters_changed", "kraft_version_changed"}
    rare = {"zk_migration_state_changed"}
    assert TYPES.keys() - found <= never | of_the_raft_layer | rare
    assert {kind.name for kind in KINDS} == {one.entity for one in CHANGES}


def test_a_partition_that_loses_its_leader() -> None:
    lost = change(leader=2, isr=(2,))
    assert changes(topic(), partition(), lost) == [
        ("leader_changed", "orders-0", 1, 2),
        ("isr_changed", "orders-0", [1, 2], [2]),
    ]


def test_a_reelected_leader_is_a_new_leader_epoch() -> None:
    found = changes(topic(), partition(), change(leader=1))
    assert found == [("leader_epoch_changed", "orders-0", 5, 6)]


REASSIGNED = change(replicas=(3, 1, 2), addingReplicas=(3,), removingReplicas=(2,))


@pytest.mark.parametrize(
    ("replicas", "name"),
    [((3, 1), "reassignment_completed"), ((1, 2), "reassignment_cancelled")],
)
def test_a_reassignment_ends_by_what_the_replicas_are(replicas: tuple[int, ...], name: str) -> None:
    moves = {"addingReplicas": [3], "removingReplicas": [2]}
    nothing: dict[str, list[int]] = {"addingReplicas": [], "removingReplicas": []}
    started = changes(topic(), partition(), REASSIGNED)
    assert ("reassignment_started", "orders-0", nothing, moves) in started
    end = change(replicas=replicas, addingReplicas=(), removingReplicas=())
    ended = changes(topic(), partition(), REASSIGNED, end)
    assert (name, "orders-0", moves, nothing) in ended


def test_a_topic_created_again_tells_the_id_it_had() -> None:
    gone = topic(), partition(), config("1"), remove_topic()
    assert [(name, who) for name, who, _, _ in changes(*gone)] == [
        ("partition_deleted", "orders-0"),
        ("topic_deleted", "orders"),
        ("config_removed", "topic orders: retention.ms"),
    ]
    assert changes(*gone, topic(topic_id=OTHER_TOPIC)) == [
        (
            "topic_recreated",
            "orders",
            {"name": "orders", "topicId": TOPIC},
            {"name": "orders", "topicId": OTHER_TOPIC},
        )
    ]


def test_a_broker_is_fenced_shuts_down_and_comes_back() -> None:
    shutdown = broker_change(inControlledShutdown=1, fenced=1)
    assert changes(broker(fenced=False), shutdown) == [
        ("broker_fenced", "broker 1", False, True),
        ("broker_shutdown_started", "broker 1", False, True),
    ]
    cordoned = broker_change(cordonedLogDirs=(DIRECTORY,))
    assert changes(broker(), cordoned) == [
        ("broker_cordoned_directories_changed", "broker 1", None, [DIRECTORY]),
    ]
    ((name, _, old, new),) = changes(broker(), shutdown, broker(epoch=30))
    assert (name, old["brokerEpoch"], new["brokerEpoch"]) == ("broker_registered", 10, 30)


def test_metadata_version_is_told_by_its_release() -> None:
    upgrade = feature("metadata.version", 21), feature("metadata.version", 27)
    assert changes(*upgrade) == [
        ("metadata_version_changed", "metadata.version", "3.9-IV0", "4.1-IV1")
    ]
    unknown = changes(feature("metadata.version", 99))
    assert unknown == [("metadata_version_changed", "metadata.version", None, "level 99")]


def test_writing_an_equal_value_is_no_change() -> None:
    assert changes(config("1"), config("1")) == []
