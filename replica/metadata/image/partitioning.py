"""How a log is split so that its parts can be replayed apart, in Spark or elsewhere.

Every record has a key, and so has every entity. Spread the keys over partitions as you like; give
each partition the records of its keys and every BROADCAST record, in order of offset; then keep of
each replay the entities whose key it owns, and the refusals of records whose key it owns. All of
them together are the replay of the whole log. Broadcast are
- the transaction markers, which decide about records of any key;
- TOPIC and REMOVE_TOPIC, as a topic's configs go with it, by the topic's name;
- CLEAR_ELR, which goes by name where partitions go by id, and may mean all topics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from replica.format.control import KRaftVersion, KRaftVoters
from replica.metadata.image.client_quotas import key_text, quota_key
from replica.metadata.image.kind import Entity, compact
from replica.metadata.image.replay import MARKERS, ReplayedRecord
from replica.metadata.image.state import Fields
from replica.metadata.record import MetadataRecord

BROADCAST = frozenset({*MARKERS, "TOPIC_RECORD", "REMOVE_TOPIC_RECORD", "CLEAR_ELR_RECORD"})
"""The record types that every partition needs; no record of another kind is."""


class PartitionKey(NamedTuple):
    """family: a kind of entity ("topic" for partitions too), "" for records without state.
    key: the key of the entity (the topic's for a partition)."""

    family: str
    key: str


def _named(family: str, field: str) -> Callable[[Fields], PartitionKey]:
    return lambda fields: PartitionKey(family, str(fields[field]))


def _config(fields: Fields) -> PartitionKey:
    key = [fields["resourceType"], fields["resourceName"], fields["name"]]
    return PartitionKey("config", compact(key))


def _scram(fields: Fields) -> PartitionKey:
    return PartitionKey("scram", compact([fields["name"], fields["mechanism"]]))


def _quota(fields: Fields) -> PartitionKey:
    return PartitionKey("client_quota", key_text(quota_key(fields)))


_KEYS: dict[str, Callable[[Fields], PartitionKey]] = {
    "TOPIC_RECORD": _named("topic", "topicId"),
    "PARTITION_RECORD": _named("topic", "topicId"),
    "PARTITION_CHANGE_RECORD": _named("topic", "topicId"),
    "REMOVE_TOPIC_RECORD": _named("topic", "topicId"),
    "CLEAR_ELR_RECORD": _named("topic", "topicName"),
    "CONFIG_RECORD": _config,
    "REGISTER_BROKER_RECORD": _named("broker", "brokerId"),
    "UNREGISTER_BROKER_RECORD": _named("broker", "brokerId"),
    "BROKER_REGISTRATION_CHANGE_RECORD": _named("broker", "brokerId"),
    "FENCE_BROKER_RECORD": _named("broker", "id"),
    "UNFENCE_BROKER_RECORD": _named("broker", "id"),
    "REGISTER_CONTROLLER_RECORD": _named("controller", "controllerId"),
    "FEATURE_LEVEL_RECORD": _named("feature", "name"),
    "ACCESS_CONTROL_ENTRY_RECORD": _named("acl", "id"),
    "REMOVE_ACCESS_CONTROL_ENTRY_RECORD": _named("acl", "id"),
    "USER_SCRAM_CREDENTIAL_RECORD": _scram,
    "REMOVE_USER_SCRAM_CREDENTIAL_RECORD": _scram,
    "CLIENT_QUOTA_RECORD": _quota,
    "DELEGATION_TOKEN_RECORD": _named("delegation_token", "tokenId"),
    "REMOVE_DELEGATION_TOKEN_RECORD": _named("delegation_token", "tokenId"),
    "PRODUCER_IDS_RECORD": lambda _: PartitionKey("producer_ids", ""),
    "ZK_MIGRATION_STATE_RECORD": lambda _: PartitionKey("zk_migration_state", ""),
}


def key_of(record: ReplayedRecord) -> PartitionKey:
    """Where the record belongs; for a broadcast one, who reports its refusal."""
    if isinstance(record, MetadataRecord):
        make = _KEYS.get(record.schema.name)
        return PartitionKey("", "") if make is None else make(record.fields)
    if isinstance(record, KRaftVoters):
        return PartitionKey("voters", "")
    if isinstance(record, KRaftVersion):
        return PartitionKey("kraft_version", "")
    return PartitionKey("", "")


def family_of(record: ReplayedRecord) -> str:
    """The family of the record's key, for a split by family alone."""
    return key_of(record).family


def owner_of(entity: Entity) -> PartitionKey:
    """The key whose partition tells the truth about the entity."""
    if entity.kind == "partition":
        return PartitionKey("topic", entity.key.rpartition(":")[0])
    return PartitionKey(entity.kind, entity.key)
