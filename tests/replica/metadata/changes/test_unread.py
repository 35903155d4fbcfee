"""Why a release of Kafka can't read a level, or records of a type and version."""

from __future__ import annotations

import pytest

from replica.metadata.changes.readers import reader_of
from replica.metadata.changes.unread import unread_level, unread_type, why_kept


@pytest.mark.parametrize(
    ("name", "version", "newest", "why", "is_fatal"),
    [
        ("TOPIC_RECORD", 0, None, "Kafka 4.0 doesn't know this type of record", True),
        ("PARTITION_RECORD", 1, 0, "version 1; Kafka 4.0 reads up to version 0", True),
        (
            "REGISTER_BROKER_RECORD",
            4,
            3,
            "reads version 3, without the field cordonedLogDirs",
            False,
        ),
        ("REGISTER_BROKER_RECORD", 4, 1, "version 4; Kafka 4.0 reads up to version 1", True),
        ("PARTITION_RECORD", 99, 2, "version 99; Kafka 4.0 reads up to version 2", True),
        ("RECORD_OF_TOMORROW", 1, 0, "version 1; Kafka 4.0 reads up to version 0", True),
    ],
)
def test_a_newer_version_is_read_where_it_only_adds_tagged_fields(
    name: str, version: int, newest: int | None, why: str, is_fatal: bool
) -> None:
    found = unread_type(reader_of("4.0"), name, version, newest)
    assert found is not None
    assert (found.subject, found.is_fatal) == (name, is_fatal)
    assert why in found.why


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_version_that_the_release_knows_is_read(version: int) -> None:
    assert unread_type(reader_of("4.0"), "PARTITION_RECORD", version, 2) is None


@pytest.mark.parametrize(
    ("now", "wanted", "why"),
    [
        (23, 22, "4.0-IV1 changed what records say, so that metadata could be lost (eligible leader"
         " replicas)"),
        (25, 16, "3.7-IV2 and 4.0-IV1 changed what records say, so that metadata could be lost (log"
         " directories of replicas and eligible leader replicas)"),
    ],
)  # fmt: skip
def test_kafka_keeps_a_level_whose_metadata_an_older_one_would_lose(
    now: int, wanted: int, why: str
) -> None:
    """MetadataVersion says so of 3.7-IV2 and 4.0-IV1, and of no level between them."""
    assert why_kept(now, wanted) == why


@pytest.mark.parametrize(("now", "wanted"), [(25, 23), (22, 17), (29, 23), (23, 23)])
def test_kafka_lowers_a_level_over_levels_that_changed_no_metadata(now: int, wanted: int) -> None:
    assert why_kept(now, wanted) is None


@pytest.mark.parametrize(
    ("level", "why", "is_kept"),
    [
        (28, "4.2-IV0; Kafka 4.1 knows levels up to 4.1-IV1", False),
        (30, "4.3-IV0; Kafka 4.1 knows levels up to 4.1-IV1", True),
        (6, "3.3-IV2; Kafka 4.1 knows levels from 3.3-IV3", False),
    ],
)
def test_kafka_4_1_knows_levels_7_to_27(level: int, why: str, is_kept: bool) -> None:
    """Kafka 4.1.2: "only supports versions 7-27". Levels 28 and 29 can be lowered to 27."""
    found = unread_level(reader_of("4.1"), "metadata.version", level)
    assert found is not None
    assert (found.why, found.is_fatal, found.is_kept) == (why, True, is_kept)
    for known in (7, 27):
        assert unread_level(reader_of("4.1"), "metadata.version", known) is None
