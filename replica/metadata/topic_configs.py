"""The configs of topics: Kafka's default of each config, and the brokers' configs that replace it.

The facts are from LogConfig and ServerTopicConfigSynonyms of Kafka 3.9 to 4.4. tests/drift compares
them with Kafka's classes.
"""

from __future__ import annotations

from dataclasses import dataclass

_LONG_MAX, _MINUTE_MS, _HOUR_MS = 2**63 - 1, 60_000, 3_600_000


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """A broker's config that gives the value of a topic's config if the topic doesn't set it."""

    name: str
    factor: int = 1
    """The number of units of the topic's config in one unit of the broker's config, such as
    3,600,000 for log.retention.hours."""

    def value_for_topics(self, value: str) -> str:
        """The broker's value in the unit of the topic's config. A negative number (no limit) and a
        text that isn't a number don't change."""
        is_number = value.removeprefix("-").isdecimal()
        scales = self.factor > 1 and is_number and int(value) > 0
        return str(int(value) * self.factor) if scales else value


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A config of topics."""

    name: str
    default: str
    """Kafka's default, as kafka-configs.sh prints it."""
    of_brokers: tuple[BrokerConfig, ...] = ()
    """The brokers' configs that give the default of this config. If several of these configs are
    set at one level, such as in server.properties, the first in this tuple counts."""


def _topic(name: str, default: object, *of_brokers: str | BrokerConfig) -> TopicConfig:
    named = (BrokerConfig(one) if isinstance(one, str) else one for one in of_brokers)
    return TopicConfig(name, str(default), tuple(named))


TOPIC_CONFIGS: tuple[TopicConfig, ...] = (
    _topic("cleanup.policy", "delete", "log.cleanup.policy"),
    _topic("compression.gzip.level", -1, "compression.gzip.level"),
    _topic("compression.lz4.level", 9, "compression.lz4.level"),
    _topic("compression.type", "producer", "compression.type"),
    _topic("compression.zstd.level", 3, "compression.zstd.level"),
    _topic("delete.retention.ms", 24 * _HOUR_MS, "log.cleaner.delete.retention.ms"),
    _topic("errors.deadletterqueue.group.enable", "false"),
    _topic("file.delete.delay.ms", _MINUTE_MS, "log.segment.delete.delay.ms"),
    _topic("flush.messages", _LONG_MAX, "log.flush.interval.messages"),
    _topic("flush.ms", _LONG_MAX, "log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    _topic("follower.replication.throttled.replicas", ""),
    _topic("index.interval.bytes", 4096, "log.index.interval.bytes"),
    _topic("leader.replication.throttled.replicas", ""),
    _topic("local.retention.bytes", -2, "log.local.retention.bytes"),
    _topic("local.retention.ms", -2, "log.local.retention.ms"),
    _topic("max.compaction.lag.ms", _LONG_MAX, "log.cleaner.max.compaction.lag.ms"),
    _topic("max.decompressed.message.bytes", 2**31 - 9, "max.decompressed.message.bytes"),
    _topic("max.message.bytes", 1024 * 1024 + 12, "message.max.bytes"),
    _topic("message.timestamp.after.max.ms", _HOUR_MS, "log.message.timestamp.after.max.ms"),
    _topic("message.timestamp.before.max.ms", _LONG_MAX, "log.message.timestamp.before.max.ms"),
    _topic("message.timestamp.type", "CreateTime", "log.message.timestamp.type"),
    _topic("min.cleanable.dirty.ratio", 0.5, "log.cleaner.min.cleanable.ratio"),
    _topic("min.compaction.lag.ms", 0, "log.cleaner.min.compaction.lag.ms"),
    _topic("min.insync.replicas", 1, "min.insync.replicas"),
    _topic("preallocate", "false", "log.preallocate"),
    _topic("remote.copy.lag.bytes", -1, "log.remote.copy.lag.bytes"),
    _topic("remote.copy.lag.ms", 0, "log.remote.copy.lag.ms"),
    _topic("remote.log.copy.disable", "false"),
    _topic("remote.log.delete.on.disable", "false"),
    _topic("remote.storage.enable", "false"),
    _topic("retention.bytes", -1, "log.retention.bytes"),
    _topic(
        "retention.ms",
        7 * 24 * _HOUR_MS,
        "log.retention.ms",
        BrokerConfig("log.retention.minutes", _MINUTE_MS),
        BrokerConfig("log.retention.hours", _HOUR_MS),
    ),
    _topic("segment.bytes", 1024**3, "log.segment.bytes"),
    _topic("segment.index.bytes", 10 * 1024**2, "log.index.size.max.bytes"),
    _topic(
        "segment.jitter.ms",
        0,
        "log.roll.jitter.ms",
        BrokerConfig("log.roll.jitter.hours", _HOUR_MS),
    ),
    _topic(
        "segment.ms", 7 * 24 * _HOUR_MS, "log.roll.ms", BrokerConfig("log.roll.hours", _HOUR_MS)
    ),
    _topic("unclean.leader.election.enable", "false", "unclean.leader.election.enable"),
)
"""The configs of Kafka 4.4, sorted by name. remote.copy.lag.bytes, remote.copy.lag.ms,
max.decompressed.message.bytes and errors.deadletterqueue.group.enable are new in 4.4. In Kafka 3.9,
message.timestamp.after.max.ms has no limit by default."""

_BY_NAME = {one.name: one for one in TOPIC_CONFIGS}


def broker_names(topic_config: str) -> tuple[str, ...]:
    """The names of the brokers' configs that give the default of a topic's config; empty if no
    brokers' config gives the default."""
    known = _BY_NAME.get(topic_config)
    return () if known is None else tuple(one.name for one in known.of_brokers)


ALL_BROKER_NAMES = frozenset(one.name for each in TOPIC_CONFIGS for one in each.of_brokers)
"""The names of all brokers' configs that give the default of a topic's config."""
