"""The state that a metadata log adds up to: the replay of its records, as Kafka does it.

replay      Replay, the fold; transactions; refusals
texts       an entity back from the text that tables keep
versions    VersionedReplay, the fold that tells what each record writes, from what to what
image       Image, the frozen result, with its entities; differences of two images
snapshot    the way back: an image as the records of a snapshot
partitioning    how a log is split into parts that can be replayed apart
state       the tables that a replay works on; kind: what an entity looks like from outside
topics (with partition), configs, brokers, controllers, features, acls, scram, client_quotas,
delegation_tokens, producer_ids, zk_migration, voters     one module each; families lists them

Facts: KIP-631 and what came after it, read from Kafka 3.9 and 4.1.1. Where Kafka's image and the
log disagree by a fault of Kafka, the replay follows the log.
"""

from replica.metadata.image.image import (
    EMPTY,
    KIND_OF,
    KINDS,
    PLACE_OF,
    Difference,
    Image,
    differences,
    dropped_configs,
    orphan_topic_configs,
)
from replica.metadata.image.kind import Entity, Kind
from replica.metadata.image.partitioning import (
    BROADCAST,
    KEY_FIELDS,
    PartitionKey,
    family_of,
    key_of,
    owner_of,
)
from replica.metadata.image.replay import Refusal, Replay, ReplayedRecord, meaning
from replica.metadata.image.snapshot import SnapshotRecord, to_records
from replica.metadata.image.texts import Read, entity_of, image_of
from replica.metadata.image.versions import VersionedReplay, Write

__all__ = [
    "BROADCAST",
    "EMPTY",
    "KEY_FIELDS",
    "KINDS",
    "KIND_OF",
    "PLACE_OF",
    "Difference",
    "Entity",
    "Image",
    "Kind",
    "PartitionKey",
    "Read",
    "Refusal",
    "Replay",
    "ReplayedRecord",
    "SnapshotRecord",
    "VersionedReplay",
    "Write",
    "differences",
    "dropped_configs",
    "entity_of",
    "family_of",
    "image_of",
    "key_of",
    "meaning",
    "orphan_topic_configs",
    "owner_of",
    "to_records",
]
