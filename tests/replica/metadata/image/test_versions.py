"""What each record writes, for every sequence of records and by example."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from replica.format.control import KRaftVersion
from replica.metadata.image.replay import Replay, ReplayedRecord
from replica.metadata.image.versions import VersionedReplay, Write
from replica.metadata.record import MetadataRecord
from tests.replica.metadata.image.made import ABORT, BEGIN, END, change, config, partition, topic
from tests.replica.metadata.image.test_properties import SEEDS, VOTERS, drawn


def writes_of(*records: ReplayedRecord) -> list[list[tuple[str, Any, Any, int]]]:
    replay = VersionedReplay()
    return [
        [(w.kind.name, w.old, w.new, w.offset) for w in replay.apply(offset, record)]
        for offset, record in enumerate(records)
    ]


@given(SEEDS)
def test_the_writes_up_to_any_record_make_its_image(seed: int) -> None:
    records: list[ReplayedRecord] = [*drawn(seed)]
    records[len(records) // 2 : 0] = [KRaftVersion(0, 1), VOTERS]
    replay, plain = VersionedReplay(), Replay()
    held: dict[tuple[str, Any], Write] = {}
    for offset, record in enumerate(records):
        for write in replay.apply(offset, record):
            key = write.kind.table, write.key
            before = held.pop(key, None)
            assert write.old == (None if before is None else before.new)
            if write.new is not None:
                held[key] = write
        assert replay.refusal == plain.apply(offset, record)
        tables = plain.image().tables.items()
        expected = {(name, key): v for name, t in tables for key, v in t.values.items()}
        assert {key: write.new for key, write in held.items()} == expected
        assert replay.image() == plain.image()
    offsets = {
        (name, key): at for name, t in plain.image().tables.items() for key, at in t.offsets.items()
    }
    assert {key: write.offset for key, write in held.items()} == offsets


def test_a_transaction_writes_each_entity_once_at_its_end() -> None:
    found = writes_of(config("0"), BEGIN, config("1"), topic(), config("2"), END)
    assert found[1:5] == [[], [], [], []]
    assert found[5] == [("config", "0", "2", 4), ("topic", None, "orders", 3)]


def test_an_aborted_transaction_writes_nothing() -> None:
    found = writes_of(topic(), BEGIN, partition(), config("1"), ABORT, config("2"))
    assert found[1:5] == [[], [], [], []]
    assert found[5] == [("config", None, "2", 5)]


def test_an_entity_that_a_transaction_creates_and_removes_is_no_write() -> None:
    assert writes_of(BEGIN, config("1"), config(None), END)[3] == []


def test_voters_are_written_at_once_within_a_transaction() -> None:
    assert writes_of(BEGIN, VOTERS)[1] == [("voters", None, VOTERS.voters, 1)]


def test_a_record_that_repeats_a_value_is_a_write() -> None:
    assert writes_of(config("1"), config("1"))[1] == [("config", "1", "1", 1)]


@pytest.mark.parametrize("last", [END, ABORT])
def test_a_transaction_is_open_from_its_begin_to_its_last_marker(last: MetadataRecord) -> None:
    replay, found = VersionedReplay(), []
    for offset, record in enumerate((topic(), BEGIN, partition(), VOTERS, last, config("1"))):
        replay.apply(offset, record)
        found.append((replay.in_transaction, replay.copy().in_transaction))
    assert found == [(is_open, is_open) for is_open in (False, True, True, True, False, False)]


def test_the_writes_of_a_transaction_name_the_records_that_made_them() -> None:
    replay = VersionedReplay()
    records = topic(), partition(), BEGIN, change(isr=(1,)), VOTERS, config("1"), END
    told = [
        [(one.kind.name, one.record_type) for one in replay.apply(offset, record)]
        for offset, record in enumerate(records)
    ]
    assert told[2:] == [
        [],
        [],
        [("voters", "KRAFT_VOTERS")],
        [],
        [("partition", "PARTITION_CHANGE_RECORD"), ("config", "CONFIG_RECORD")],
    ]
