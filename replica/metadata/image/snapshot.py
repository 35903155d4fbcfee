"""An image as the records of a snapshot (Kafka: MetadataImage.write, RecordsSnapshotWriter).

As in Kafka, the image's own finalized features decide which record types and versions are written.
Under an older metadata.version, content is lost that needs a newer version or type of record.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from replica.format.control import KRaftVersion, KRaftVoters
from replica.metadata.image.image import KIND_OF, Image
from replica.metadata.image.settings import METADATA_VERSION
from replica.metadata.record import MetadataRecord, new_record
from replica.metadata.records import RECORDS_BY_NAME

SnapshotRecord: TypeAlias = MetadataRecord | KRaftVersion | KRaftVoters

ELR_VERSION = "eligible.leader.replicas.version"
LOWEST_METADATA_VERSION = 7
"""3.3-IV3, the oldest level at which KRaft is ready for production. An image without a
metadata.version is written at this level."""

# The record types and versions of a metadata.version (Kafka: MetadataVersion), newest first.
_SINCE = {
    "REGISTER_BROKER_RECORD": ((30, 4), (17, 3), (8, 2), (0, 1)),
    "PARTITION_RECORD": ((23, 2), (17, 1), (0, 0)),
    "ZK_MIGRATION_STATE_RECORD": ((8, 0),),
    "USER_SCRAM_CREDENTIAL_RECORD": ((11, 0),),
    "DELEGATION_TOKEN_RECORD": ((14, 0),),
    "REGISTER_CONTROLLER_RECORD": ((15, 0),),
}
_ALWAYS = ((0, 0),)
_ELR_FIELDS = ("eligibleLeaderReplicas", "lastKnownElr")

_ORDER = (
    "feature", "zk_migration_state", "broker", "controller", "topic", "config",
    "client_quota", "producer_ids", "acl", "scram", "delegation_token",
)  # fmt: skip


def to_records(image: Image) -> tuple[SnapshotRecord, ...]:
    """The records between header and footer: the kinds in Kafka's order, and by rising key within a
    kind.

    Replaying the records gives the same image, without content that its metadata.version can't
    hold: migrating brokers and the migration's state below 8, SCRAM below 11, tokens below 14,
    controllers below 15, directories below 17, cordoned directories below 30; and ELR below 23 or
    without eligible.leader.replicas.version. Voters are written from kraft.version 1 on.
    """
    levels = image.tables["features"].values
    metadata_version = levels.get(METADATA_VERSION, LOWEST_METADATA_VERSION)
    writer = _Writer(image, metadata_version, has_elr=levels.get(ELR_VERSION, 0) > 0)
    return (*_control_records(image), *writer.records())


def _control_records(image: Image) -> Iterator[SnapshotRecord]:
    version = image.tables["kraft_version"].values.get("", 0)
    if version > 0:
        yield KRaftVersion(0, version)
        if "" in image.tables["voters"].values:
            yield KRaftVoters(0, image.tables["voters"].values[""])


class _Writer:
    def __init__(self, image: Image, metadata_version: int, *, has_elr: bool) -> None:
        self._image = image
        self._metadata_version = metadata_version
        self._has_elr = has_elr

    def records(self) -> Iterator[MetadataRecord]:
        partitions = sorted(self._image.tables["partitions"].values)
        by_topic = {topic_id: list(own) for topic_id, own in groupby(partitions, itemgetter(0))}
        for name in _ORDER:
            for key in self._keys(name):
                yield from self._record(name, key)
                if name == "topic":
                    for partition in by_topic.get(key, ()):
                        yield from self._record("partition", partition)

    def _keys(self, name: str) -> list[Any]:
        kind = KIND_OF[name]
        keys = sorted(self._image.tables[kind.table].values, key=kind.order)
        if name == "feature":
            # metadata.version comes first, because it may decide how later records are read
            keys.sort(key=lambda feature: feature != METADATA_VERSION)
        return keys

    def _record(self, name: str, key: Any) -> Iterator[MetadataRecord]:
        """The entity's record; nothing if the metadata.version has no record for this kind of
        entity."""
        kind = KIND_OF[name]
        since = _SINCE.get(kind.record_type, _ALWAYS)
        version = next((v for level, v in since if level <= self._metadata_version), None)
        if version is None:
            return
        value = self._image.tables[kind.table].values[key]
        fields = dict(kind.fields(key, value))
        if name == "partition":
            for field in _ELR_FIELDS:
                fields[field] = (fields[field] or None) if self._has_elr else None
        known = {field.name for field in RECORDS_BY_NAME[kind.record_type].fields_at(version)}
        yield new_record(kind.record_type, version, {n: v for n, v in fields.items() if n in known})
