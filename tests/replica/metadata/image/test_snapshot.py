"""The records of a snapshot, by the features that the image has finalized."""

from __future__ import annotations

import pytest

from replica.format.control import KRaftVersion, KRaftVoters
from replica.metadata.image.image import EMPTY
from replica.metadata.image.snapshot import to_records
from replica.metadata.record import MetadataRecord, new_record
from tests.replica.metadata.image.made import (
    DIRECTORY,
    TOPIC,
    after,
    broker,
    config,
    feature,
    partition,
    topic,
)

ELR = "eligible.leader.replicas.version"


def written(*records: object) -> list[MetadataRecord]:
    image, refusals = after(*records)
    assert not refusals
    return [record for record in to_records(image) if isinstance(record, MetadataRecord)]


def versions(*records: object) -> dict[str, int]:
    return {record.type: record.version for record in written(*records)}


@pytest.mark.parametrize(
    ("level", "broker_version", "partition_version"),
    [
        (7, 1, 0),
        (8, 2, 0),
        (16, 2, 0),
        (17, 3, 1),
        (22, 3, 1),
        (23, 3, 2),
        (29, 3, 2),
        (30, 4, 2),
        (33, 4, 2),
    ],
)
def test_record_versions_follow_the_metadata_version(
    level: int, broker_version: int, partition_version: int
) -> None:
    found = versions(feature("metadata.version", level), broker(), topic(), partition())
    assert found["REGISTER_BROKER_RECORD"] == broker_version
    assert found["PARTITION_RECORD"] == partition_version


@pytest.mark.parametrize(
    ("record_type", "since"),
    [
        ("ZK_MIGRATION_STATE_RECORD", 8),
        ("USER_SCRAM_CREDENTIAL_RECORD", 11),
        ("DELEGATION_TOKEN_RECORD", 14),
        ("REGISTER_CONTROLLER_RECORD", 15),
    ],
)
def test_types_are_written_from_the_metadata_version_on_that_has_them(
    record_type: str, since: int
) -> None:
    someone = {"owner": "User:a", "requester": "User:a"}
    record = new_record(record_type, 0, someone if record_type.startswith("DELEGATION") else {})
    assert record_type in versions(feature("metadata.version", since), record)
    assert record_type not in versions(feature("metadata.version", since - 1), record)


def test_elr_is_written_where_it_is_finalized_and_not_empty() -> None:
    some = partition(eligibleLeaderReplicas=(1,))
    levels = feature("metadata.version", 27), feature(ELR, 1)
    *_, with_elr = written(*levels, topic(), some)
    assert with_elr.fields["eligibleLeaderReplicas"] == (1,)
    assert with_elr.fields["lastKnownElr"] is None
    *_, without = written(levels[0], topic(), some)
    assert without.fields["eligibleLeaderReplicas"] is None


def test_directories_are_lost_where_the_version_has_none() -> None:
    level = feature("metadata.version", 16)
    found = written(level, broker(logDirs=(DIRECTORY,)), topic())
    assert "logDirs" not in found[1].fields


@pytest.mark.parametrize(("level", "kept"), [(29, None), (30, (DIRECTORY,))])
def test_cordoned_directories_are_written_from_4_3_on(
    level: int, kept: tuple[str, ...] | None
) -> None:
    registered = broker(cordonedLogDirs=(DIRECTORY,))
    found = written(feature("metadata.version", level), registered)
    assert found[1].fields.get("cordonedLogDirs") == kept


def test_metadata_version_comes_first_and_partitions_follow_their_topic() -> None:
    records = config("1"), feature("a", 1), topic(), partition(), broker()
    assert [r.type for r in written(feature("metadata.version", 27), *records)] == [
        "FEATURE_LEVEL_RECORD",
        "FEATURE_LEVEL_RECORD",
        "REGISTER_BROKER_RECORD",
        "TOPIC_RECORD",
        "PARTITION_RECORD",
        "CONFIG_RECORD",
    ]
    first, *_ = written(*records, feature("metadata.version", 27))
    assert first.fields["name"] == "metadata.version"


def test_voters_are_written_from_kraft_version_1_on() -> None:
    voters = KRaftVoters(0, ())
    assert to_records(after(KRaftVersion(0, 1), voters)[0]) == (KRaftVersion(0, 1), voters)
    assert to_records(after(KRaftVersion(0, 0), voters)[0]) == ()
    assert to_records(EMPTY) == ()


def test_an_image_without_metadata_version_is_written_at_the_lowest_level() -> None:
    assert versions(broker(), topic(), partition(topicId=TOPIC))["PARTITION_RECORD"] == 0
