"""What lost records would have changed, in words."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pipelines.report.meaning import (
    Effect,
    LostChange,
    effect,
    made_text,
    never_made_text,
    unknown_text,
    words_of,
)
from replica.metadata.changes.catalogue import CHANGES

ACLS_AND_OTHERS = sorted(change.name for change in CHANGES)[:6]


def _at(offset: int) -> dict[str, int]:
    return {"records": 1, "first_offset": offset}


def _range(start: int, end: int) -> dict[str, int]:
    return {"from_offset": start, "to_offset": end}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("topic_recreated", "topic/topics/created anew"),
        ("leader_recovery_state_changed", "leader recovery state/leader recovery states/changed"),
        ("last_known_elr_changed", "last known ELR/last known ELRs/changed"),
        ("broker_changed", "broker registration/broker registrations/changed"),
        ("broker_fenced", "broker/brokers/fenced"),
        ("broker_directories_changed", "broker's directories/brokers' directories/changed"),
        ("producer_ids_removed", "block of producer ids/blocks of producer ids/removed"),
        ("kraft_version_changed", "KRaft version/KRaft versions/changed"),
    ],
)
def test_a_type_of_change_is_told_in_words(change: str, words: str) -> None:
    assert "/".join(words_of(change)) == words


def test_no_two_types_of_change_have_the_same_words() -> None:
    told = Counter(words_of(change.name) for change in CHANGES)
    assert told.most_common(1)[0][1] == 1


@pytest.mark.parametrize(
    ("changes", "never", "told"),
    [
        ([], "", ""),
        (
            [LostChange("partition_created", 15, 0, True), LostChange("topic_created", 5)],
            "5 topics with 15 partitions were never created",
            "5 topics with 15 partitions created",
        ),
        (
            [LostChange("topic_created", 1), LostChange("partition_created", 1, 0, True)],
            "1 topic with 1 partition was never created",
            "1 topic with 1 partition created",
        ),
        (
            [LostChange("partition_created", 3)],
            "3 partitions were never created",
            "3 partitions created",
        ),
        (
            [
                LostChange("topic_deleted", 1),
                LostChange("partition_deleted", 4, 0, True),
                LostChange("partition_created", 2),
                LostChange("config_set", 1),
            ],
            "2 partitions were never created, 1 topic with 4 partitions was never deleted and 1 "
            "config was never set",
            "2 partitions created, 1 topic with 4 partitions deleted and 1 config set",
        ),
        (
            [LostChange("topic_created", 5, again=2), LostChange("partition_created", 9, 4, True)],
            "3 topics with 5 partitions were never created and 6 changes were made again later",
            "5 topics with 9 partitions created",
        ),
        (
            [LostChange("config_set", 1, again=1)],
            "1 change was made again later",
            "1 config set",
        ),
        (
            [LostChange(name, 9 - n) for n, name in enumerate(ACLS_AND_OTHERS)],
            "9 ACLs were never changed, 8 ACLs were never created, 7 ACLs were never deleted and "
            "15 other changes were never made",
            "9 ACLs changed, 8 ACLs created, 7 ACLs deleted and 15 other changes made",
        ),
        (
            [
                LostChange("isr_changed", 34),
                LostChange("isr_changed", 14, 0, True),
                LostChange("broker_fenced", 9),
                LostChange("config_set", 3),
                LostChange("topic_created", 2),
                LostChange("partition_created", 7, 0, True),
            ],
            "3 configs were never set, 2 topics with 7 partitions were never created, 48 ISRs were "
            "never changed and 9 brokers were never fenced",
            "3 configs set, 2 topics with 7 partitions created, 48 ISRs changed and 9 brokers "
            "fenced",
        ),
        (
            [LostChange("of_tomorrow", 2)],
            "2 of_tomorrow changes were never made",
            "2 of_tomorrow changes made",
        ),
    ],
)
def test_changes_are_counted_in_plain_words(
    changes: list[LostChange], never: str, told: str
) -> None:
    effect = Effect(changes=tuple(changes))
    assert never_made_text(effect) == never
    assert made_text(effect) == told


TOPIC = {"record_type": "TOPIC_RECORD", "record_version": 0, "is_control": False}
UNKNOWN = {"record_type": "UNKNOWN_RECORD", "record_version": 0, "is_control": False}
OF_TOMORROW = {"record_type": "TOPIC_RECORD", "record_version": 99, "is_control": False}
CONTROL = {"record_type": "LEADER_CHANGE", "record_version": 0, "is_control": True}
CREATED = {"change": "topic_created", "changes": 2, "again": 0, "with_topic": False, "example": "x"}


@pytest.mark.parametrize(
    ("types", "ranges", "ends"),
    [
        ([TOPIC | {"records": 3, "first_offset": 10}], [(0, 10)], ""),
        ([TOPIC | {"records": 3, "first_offset": 10}], [], ""),
        (
            [TOPIC | {"records": 2, "first_offset": 10}, CONTROL | _at(12)],
            [(0, 40)],
            "",
        ),
        (
            [TOPIC | {"records": 2, "first_offset": 10}, OF_TOMORROW | _at(12)],
            [(0, 10)],
            "; this release doesn't know what the records from offset 12 on would have changed",
        ),
        (
            [TOPIC | {"records": 2, "first_offset": 11}, UNKNOWN | _at(10)],
            [(0, 10)],
            "; this release doesn't know what the records from offset 10 on would have changed",
        ),
        (
            [TOPIC | {"records": 3, "first_offset": 10}],
            [(0, 4), (20, 30)],
            "; this release doesn't know what the records from offset 10 on would have changed",
        ),
        (
            [TOPIC | {"records": 1, "first_offset": 10}],
            [(0, 10)],
            "; 2 of the records could not be read",
        ),
    ],
)
def test_unknown_facts_of_the_lost_records_are_named(
    types: list[dict[str, Any]], ranges: list[tuple[int, int]], ends: str
) -> None:
    told = [_range(start, end) for start, end in ranges]
    known = effect(10, 3, [], types, [CREATED], told)
    assert never_made_text(known) == f"2 topics were never created{ends}"
    assert (made_text(known), unknown_text(known)) == ("2 topics created", ends.removeprefix("; "))


def test_records_without_changes_are_only_called_so_where_the_state_at_the_fork_is_known() -> None:
    noop = {"record_type": "NO_OP_RECORD", "record_version": 0, "is_control": False, **_at(10)}
    assert never_made_text(effect(10, 1, [], [noop], [], [_range(0, 10)])) == ""
    unknown = "this release doesn't know what the records from offset 10 on would have changed"
    assert never_made_text(effect(10, 1, [], [noop], [], [])) == unknown
    assert never_made_text(effect(10, 1, [], [noop], None, [])) == "", "nobody asked"


def test_partitions_whose_topic_was_created_again_are_told_by_themselves() -> None:
    changes = LostChange("topic_created", 1, 1), LostChange("partition_created", 3, 1, True)
    assert never_made_text(Effect(changes=changes)) == (
        "2 partitions were never created and 2 changes were made again later"
    )
