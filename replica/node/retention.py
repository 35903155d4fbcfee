"""When a metadata log gets a snapshot, and where it may start. The keys are Kafka's
(MetadataLogConfig) and those of KIP-630's text, which Kafka never implemented. A file with a key of
KIP-630's text chooses KIP-630's rule."""

from __future__ import annotations

from replica.node.properties import Properties
from replica.raft.snapshots import SnapshotPolicy

BYTES = "metadata.log.max.record.bytes.between.snapshots"
INTERVAL = "metadata.log.max.snapshot.interval.ms"
RATIO = "metadata.snapshot.min.changed_records.ratio"
OLDER_BYTES = "metadata.snapshot.min.new_records.size"
"""The name that earlier versions of KIP-630 gave the key BYTES."""
START_LAG = "metadata.start.offset.lag.time.max.ms"

_DEFAULT_BYTES = 20 * 1024 * 1024
_DEFAULT_RATIO = 0.5


def snapshot_policy(properties: Properties) -> SnapshotPolicy:
    """When the node makes snapshots. Where RATIO or OLDER_BYTES is set, it is KIP-630's rule:
    enough new bytes and a large enough share of changed records. Else it is Kafka's rule: enough
    new bytes or enough time. Raises UsageError for an unusable value, and where the two names of
    the bytes have different values."""
    new_bytes = properties.number(BYTES, _DEFAULT_BYTES, 1)
    interval_ms = properties.number(INTERVAL, 3_600_000)
    if not (properties.text(RATIO) or properties.text(OLDER_BYTES)):
        return SnapshotPolicy(new_bytes, interval_ms)
    older = properties.number(OLDER_BYTES, new_bytes, 1)
    if properties.text(BYTES) and older != new_bytes:
        raise properties.error(OLDER_BYTES, f"{older}, but {BYTES} is {new_bytes}: leave one out")
    return SnapshotPolicy(older, interval_ms, properties.fraction(RATIO, _DEFAULT_RATIO))


def start_lag_ms(properties: Properties) -> int | None:
    """The value of START_LAG in ms; None where it isn't set. A value chooses KIP-630's policy for
    the log start instead of metadata.max.retention.*."""
    return properties.number(START_LAG, 0) if properties.text(START_LAG) else None
