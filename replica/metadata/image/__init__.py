"""The state that a metadata log adds up to: the replay of its records, as Kafka does it.

replay      Replay, which applies records; transactions; refusals
versions    VersionedReplay, which also says what each record writes: the entity before and after
image       Image, the frozen result, with its entities; differences of two images
texts       an entity back from the text that tables keep
snapshot    an image -> the records of a snapshot
partitioning    how a log is split into parts that can be replayed apart
state       the tables that a replay works on; kind: how an entity is written as text
topics (with partition), settings, registrations, access, voters     the entities that records make

The facts are those of KIP-631 and later KIPs, read from Kafka 3.9 and 4.1.1. Where a fault of Kafka
makes its image disagree with the log, the replay follows the log.
"""

from replica.metadata.image.image import (
    EMPTY,
    KIND_OF,
    KINDS,
    PLACE_OF,
    EntityDifference,
    Image,
    differences,
    dropped_configs,
    orphan_topic_configs,
)
from replica.metadata.image.kind import Entity, EntityKind
from replica.metadata.image.partitioning import (
    BROADCAST,
    KEY_FIELDS,
    PartitionKey,
    key_of,
    owner_of,
)
from replica.metadata.image.replay import Refusal, Replay, ReplayedRecord, meaning
from replica.metadata.image.snapshot import SnapshotRecord, to_records
from replica.metadata.image.texts import StoredEntity, entity_of, image_of
from replica.metadata.image.versions import VersionedReplay, Write

__all__ = [
    "BROADCAST",
    "EMPTY",
    "KEY_FIELDS",
    "KINDS",
    "KIND_OF",
    "PLACE_OF",
    "Entity",
    "EntityDifference",
    "EntityKind",
    "Image",
    "PartitionKey",
    "Refusal",
    "Replay",
    "ReplayedRecord",
    "SnapshotRecord",
    "StoredEntity",
    "VersionedReplay",
    "Write",
    "differences",
    "dropped_configs",
    "entity_of",
    "image_of",
    "key_of",
    "meaning",
    "orphan_topic_configs",
    "owner_of",
    "to_records",
]
