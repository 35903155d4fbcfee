"""Which partition a directory is of: told by the folder's name, the topic id, and the records."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from replica.doctor.check.partition import PartitionKind, partition_at, partition_named
from replica.model.keys import METADATA_TOPIC_ID
from tests.replica.doctor.check.editing import findings, metadata

OTHER_ID = "AAAAAAAAAAAAAAAAAAAAAg"
TOPIC = metadata("TOPIC_RECORD", name="t", topicId=OTHER_ID)
OPAQUE = b"order"
TOPICS = Path(__file__).parents[3] / "golden/format/kafka-4.4.0-topics.tar.gz"
METADATA, QUORUM = PartitionKind.METADATA, PartitionKind.QUORUM


@pytest.mark.parametrize(
    ("folder", "topic_id", "values", "kind", "is_proven"),
    [
        # the folder that Kafka makes for the metadata log is one, whatever lies in it
        ("__cluster_metadata-0", OTHER_ID, (OPAQUE,), METADATA, True),
        ("saved", METADATA_TOPIC_ID, (TOPIC, OPAQUE), METADATA, True),
        ("incident-7", None, (TOPIC,), METADATA, True),
        ("orders-0", None, (), METADATA, True),
        ("orders-0", OTHER_ID, (TOPIC,), QUORUM, True),
        ("saved", OTHER_ID, (), QUORUM, True),
        ("orders-0", None, (OPAQUE, OPAQUE, TOPIC), QUORUM, True),
        # these may as well be metadata records that this release can't read
        ("orders-0", METADATA_TOPIC_ID, (OPAQUE,), QUORUM, False),
        ("saved", None, (OPAQUE,), QUORUM, False),
    ],
)
def test_the_partition_is_named_by_its_files_or_its_folder(
    folder: str,
    topic_id: str | None,
    values: tuple[bytes, ...],
    kind: PartitionKind,
    is_proven: bool,
) -> None:
    told = partition_named(folder, topic_id, values, lambda: QUORUM)
    assert (told.kind, told.is_proven) == (kind, is_proven)


def test_a_folder_of_a_quorum_and_one_of_a_broker_are_told_apart(
    data: Path, tmp_path: Path
) -> None:
    node = Path(shutil.copytree(data / "kafka-4.1.1-dynamic/final/3", tmp_path / "node"))
    other = (node / "__cluster_metadata-0").rename(node / "orders-0")
    assert partition_at(str(other)).is_metadata, "its records and its topic id say so"
    (other / "partition.metadata").write_text(f"version: 0\ntopic_id: {OTHER_ID}")
    assert partition_at(str(other)).kind is QUORUM
    assert "no-metadata-log" in {finding.rule.id for finding in findings(other)}
    with tarfile.open(TOPICS) as archive:
        archive.extractall(tmp_path, filter="data")
    topic = tmp_path / "topics/compacted-0"
    assert partition_at(str(topic)).kind is PartitionKind.ORDINARY
    assert [finding.rule.id for finding in findings(topic)] == ["ordinary-topic"]
    assert partition_at(str(tmp_path / "nothing")).is_metadata
