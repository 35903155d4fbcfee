"""Why a release of Kafka can't read records of a type and version."""

from __future__ import annotations

import pytest

from replica.metadata.changes.readers import reader_of
from replica.metadata.changes.unread import unread_type


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
