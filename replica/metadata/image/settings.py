"""The settings in a cluster's image: dynamic configs, feature levels, the next producer id, and the
state of the migration from ZooKeeper."""

from __future__ import annotations

from replica.metadata.image.kind import EntityKind, compact
from replica.metadata.image.state import TOPIC_RESOURCE, Fields, Handler, State
from replica.model.control import KRAFT_VERSION

METADATA_VERSION = "metadata.version"
NO_MIGRATION, MIGRATION, PRE_MIGRATION, POST_MIGRATION = range(4)
"""The states of the migration from ZooKeeper (Kafka: ZkMigrationState)."""
_MIGRATION_NAMES = ("NONE", "MIGRATION", "PRE_MIGRATION", "POST_MIGRATION")


def migration_name(state: int) -> str:
    """Kafka's name of a state of the migration; the number if the state has no name."""
    return _MIGRATION_NAMES[state] if 0 <= state < len(_MIGRATION_NAMES) else str(state)


def _set_config(state: State, offset: int, fields: Fields) -> None:
    """Sets or removes a dynamic config (Kafka: ConfigurationsDelta).

    A null value removes the config; the empty text is a value. A topic or broker may have configs
    before it exists, and an unregistered broker keeps its configs.
    """
    resource_type, resource, name = fields["resourceType"], fields["resourceName"], fields["name"]
    key = resource_type, resource, name
    if fields["value"] is None:
        state.configs.drop(key)
        if resource_type == TOPIC_RESOURCE:
            state.topic_configs.get(resource, set()).discard(name)
        return
    state.configs.put(key, fields["value"], offset)
    if resource_type == TOPIC_RESOURCE:
        state.topic_configs.setdefault(resource, set()).add(name)


def _set_level(state: State, offset: int, fields: Fields) -> None:
    """Finalizes a feature's level (KIP-584; Kafka: FeaturesDelta).

    Level 0 removes a feature, except for metadata.version. kraft.version is no feature of the
    image: the Raft layer keeps it in a control record.
    """
    name, level = fields["name"], fields["featureLevel"]
    if name == KRAFT_VERSION:
        return
    if level == 0 and name != METADATA_VERSION:
        state.features.drop(name)
    else:
        state.features.put(name, level, offset)


def _set_producer_id(state: State, offset: int, fields: Fields) -> None:
    """Sets the next producer id that a broker will get (KIP-730; Kafka: ProducerIdsDelta). An id
    below 0 means no id."""
    if fields["nextProducerId"] < 0:
        state.producer_ids.drop("")
    else:
        state.producer_ids.put("", fields["nextProducerId"], offset)


def _set_migration(state: State, offset: int, fields: Fields) -> None:
    """Sets the state of the migration from ZooKeeper (KIP-866; Kafka 3.4 to 3.9: FeaturesDelta)."""
    state.zk_migration.put("", fields["zkMigrationState"], offset)


def _config_fields(key: tuple[int, str, str], value: str) -> dict[str, object]:
    return {"resourceType": key[0], "resourceName": key[1], "name": key[2], "value": value}


def _producer_fields(_: str, next_id: int) -> dict[str, object]:
    """The fields of a snapshot's record. The state doesn't hold the broker that got the last
    block of producer ids, so a snapshot names broker -1 and epoch -1."""
    return {"brokerId": -1, "brokerEpoch": -1, "nextProducerId": next_id}


HANDLERS: dict[str, Handler] = {
    "CONFIG_RECORD": _set_config,
    "FEATURE_LEVEL_RECORD": _set_level,
    "PRODUCER_IDS_RECORD": _set_producer_id,
    "ZK_MIGRATION_STATE_RECORD": _set_migration,
}
CONFIG = EntityKind("config", "configs", "CONFIG_RECORD", _config_fields, compact)
FEATURE = EntityKind(
    "feature",
    "features",
    "FEATURE_LEVEL_RECORD",
    lambda name, level: {"name": name, "featureLevel": level},
)
PRODUCER_IDS = EntityKind("producer_ids", "producer_ids", "PRODUCER_IDS_RECORD", _producer_fields)
ZK_MIGRATION = EntityKind(
    "zk_migration_state",
    "zk_migration",
    "ZK_MIGRATION_STATE_RECORD",
    lambda _, reached: {"zkMigrationState": reached},
)


# The dynamic configs that Kafka 4.2 and newer keep in their image (SupportedConfigChecker). A
# controller or broker of these releases leaves a CONFIG_RECORD out of its image if it doesn't know
# the name, such as a topic's message.format.version, which Kafka 4.0 removed. The log still holds
# the record, but the snapshots of this node don't.

_BROKER = 4
"""ConfigResource.Type.BROKER. Every config of a broker is kept, whatever its name."""

KEPT_CONFIGS: dict[int, frozenset[str]] = {
    # ConfigResource.Type.TOPIC: LogConfig
    2: frozenset(
        {
            "cleanup.policy", "compression.gzip.level", "compression.lz4.level",
            "compression.type", "compression.zstd.level", "delete.retention.ms",
            "file.delete.delay.ms", "flush.messages", "flush.ms",
            "follower.replication.throttled.replicas", "index.interval.bytes",
            "internal.segment.bytes", "leader.replication.throttled.replicas",
            "local.retention.bytes", "local.retention.ms", "max.compaction.lag.ms",
            "max.message.bytes", "message.timestamp.after.max.ms",
            "message.timestamp.before.max.ms", "message.timestamp.type",
            "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "min.insync.replicas",
            "preallocate", "remote.log.copy.disable", "remote.log.delete.on.disable",
            "remote.storage.enable", "retention.bytes", "retention.ms", "segment.bytes",
            "segment.index.bytes", "segment.jitter.ms", "segment.ms",
            "unclean.leader.election.enable",
        }
    ),
    # ConfigResource.Type.CLIENT_METRICS: ClientMetricsConfigs
    16: frozenset({"interval.ms", "match", "metrics"}),
    # ConfigResource.Type.GROUP: GroupConfig
    32: frozenset(
        {
            "consumer.heartbeat.interval.ms", "consumer.session.timeout.ms",
            "share.auto.offset.reset", "share.heartbeat.interval.ms", "share.isolation.level",
            "share.record.lock.duration.ms", "share.session.timeout.ms",
            "streams.heartbeat.interval.ms", "streams.initial.rebalance.delay.ms",
            "streams.num.standby.replicas", "streams.session.timeout.ms",
        }
    ),
}  # fmt: skip
"""Resource type -> the names of the configs that all releases from 4.2 to 4.4 keep in their image.
Names that only newer releases know are missing."""


def is_always_kept(resource_type: int, name: str) -> bool:
    """Whether every release from Kafka 4.2 on keeps this config in its image."""
    return resource_type == _BROKER or name in KEPT_CONFIGS.get(resource_type, ())
