"""The dynamic configs that Kafka 4.2 and newer keep in their image (SupportedConfigChecker).

A controller or broker of these releases leaves a CONFIG_RECORD out of its image if it doesn't know
the name, such as a topic's message.format.version, which Kafka 4.0 removed. The log holds the
record all the same, but the snapshots of that node don't.
"""

from __future__ import annotations

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
"""Resource type -> the names that all releases from 4.2 to 4.4 keep. A name that only the newer
ones know is not among them."""


def is_always_kept(resource_type: int, name: str) -> bool:
    """Whether every release from Kafka 4.2 on keeps this config in its image."""
    return resource_type == _BROKER or name in KEPT_CONFIGS.get(resource_type, ())
