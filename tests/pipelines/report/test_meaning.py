"""What lost records would have changed, in words."""

from __future__ import annotations

import pytest

from pipelines.report.meaning import NOUNS, LostChange, made, never_made
from replica.metadata.changes.catalogue import CHANGES


def test_every_type_of_change_has_its_words() -> None:
    assert set(NOUNS) == {change.name for change in CHANGES}


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
                *(LostChange("topic_deleted", 1), LostChange("partition_deleted", 4, 0, True)),
                *(LostChange("partition_created", 2), LostChange("config_set", 1)),
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
            [LostChange(name, 9 - n) for n, name in enumerate(sorted(NOUNS)[:6])],
            "9 ACLs were never changed, 8 ACLs were never created, 7 ACLs were never deleted and "
            "15 other changes were never made",
            "9 ACLs changed, 8 ACLs created, 7 ACLs deleted and 15 other changes made",
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
    assert never_made(changes) == never
    assert made(changes) == told


def test_partitions_whose_topic_was_created_again_are_told_by_themselves() -> None:
    changes = [LostChange("topic_created", 1, 1), LostChange("partition_created", 3, 1, True)]
    assert never_made(changes) == (
        "2 partitions were never created and 2 changes were made again later"
    )
