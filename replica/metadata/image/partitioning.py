"""Splits a log so that its parts can be replayed separately, in Spark or elsewhere.

Every record and every entity has a key. The caller distributes the keys over partitions in any way,
gives each partition the records of its keys and all BROADCAST records in the order of their
offsets, and keeps from each partition's replay the entities and the refusals of its own keys.
Together they are the replay of the whole log. These records are broadcast:
- the transaction markers, which decide about records of any key;
- TOPIC and REMOVE_TOPIC: removing a topic removes its configs, which have the topic's name as key;
- CLEAR_ELR, which names a topic or means all of them, while partitions have the topic id as key.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from replica.format.control import KRaftVersion, KRaftVoters
from replica.metadata.image.kind import Entity
from replica.metadata.image.replay import MARKERS, ReplayedRecord
from replica.metadata.record import MetadataRecord

BROADCAST = frozenset({*MARKERS, "TOPIC_RECORD", "REMOVE_TOPIC_RECORD", "CLEAR_ELR_RECORD"})
"""The record types that every partition needs. All of them are metadata records."""


class PartitionKey(NamedTuple):
    """The key by which records and entities are distributed."""

    family: str
    """The kind of entity ("topic" for partitions too); empty for records without state."""
    key: str
    """The values that identify the entity in records of the family, joined by NUL (see
    KEY_FIELDS)."""


KEY_FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "TOPIC_RECORD": ("topic", ("topicId",)),
    "PARTITION_RECORD": ("topic", ("topicId",)),
    "PARTITION_CHANGE_RECORD": ("topic", ("topicId",)),
    "REMOVE_TOPIC_RECORD": ("topic", ("topicId",)),
    "CLEAR_ELR_RECORD": ("topic", ("topicName",)),
    "CONFIG_RECORD": ("config", ("resourceType", "resourceName", "name")),
    "REGISTER_BROKER_RECORD": ("broker", ("brokerId",)),
    "UNREGISTER_BROKER_RECORD": ("broker", ("brokerId",)),
    "BROKER_REGISTRATION_CHANGE_RECORD": ("broker", ("brokerId",)),
    "FENCE_BROKER_RECORD": ("broker", ("id",)),
    "UNFENCE_BROKER_RECORD": ("broker", ("id",)),
    "REGISTER_CONTROLLER_RECORD": ("controller", ("controllerId",)),
    "UNREGISTER_CONTROLLER_RECORD": ("controller", ("controllerId",)),
    "FEATURE_LEVEL_RECORD": ("feature", ("name",)),
    "ACCESS_CONTROL_ENTRY_RECORD": ("acl", ("id",)),
    "REMOVE_ACCESS_CONTROL_ENTRY_RECORD": ("acl", ("id",)),
    "USER_SCRAM_CREDENTIAL_RECORD": ("scram", ("name", "mechanism")),
    "REMOVE_USER_SCRAM_CREDENTIAL_RECORD": ("scram", ("name", "mechanism")),
    "CLIENT_QUOTA_RECORD": ("client_quota", ("key",)),
    "DELEGATION_TOKEN_RECORD": ("delegation_token", ("tokenId",)),
    "REMOVE_DELEGATION_TOKEN_RECORD": ("delegation_token", ("tokenId",)),
    "PRODUCER_IDS_RECORD": ("producer_ids", ()),
    "ZK_MIGRATION_STATE_RECORD": ("zk_migration_state", ()),
    "KRAFT_VOTERS": ("voters", ()),
    "KRAFT_VERSION": ("kraft_version", ()),
}
"""Record type -> its family, and the fields whose values are its key. A quota's key has only the
name of the quota, because records may hold the parts of its entity in any order."""

_NO_KEY = PartitionKey("", "")


def key_of(record: ReplayedRecord) -> PartitionKey:
    """The record's key. All partitions replay a broadcast record; if the record is refused, the
    partition of its key reports this."""
    if isinstance(record, MetadataRecord):
        found = KEY_FIELDS.get(record.schema.name)
        if found is None:
            return _NO_KEY
        family, names = found
        return PartitionKey(family, "\0".join(str(record.fields[name]) for name in names))
    if isinstance(record, KRaftVoters):
        return PartitionKey("voters", "")
    if isinstance(record, KRaftVersion):
        return PartitionKey("kraft_version", "")
    return _NO_KEY


def owner_of(entity: Entity) -> PartitionKey:
    """The entity's key. The partition of this key has replayed all records about the entity."""
    if entity.kind == "partition":
        return PartitionKey("topic", entity.key.rpartition(":")[0])
    if entity.kind == "client_quota":
        return PartitionKey(entity.kind, json.loads(entity.key)[1])
    if entity.kind in ("config", "scram"):
        return PartitionKey(entity.kind, "\0".join(map(str, json.loads(entity.key))))
    return PartitionKey(entity.kind, entity.key)
