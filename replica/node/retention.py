"""When a metadata log gets a snapshot, and where it may start. The keys are Kafka's
(MetadataLogConfig) and those of KIP-630's text, which Kafka never implemented. A file that has one
of the latter chooses KIP-630's rule."""

from __future__ import annotations

from replica.node.properties import Properties
from replica.raft.snapshots import SnapshotPolicy

BYTES = "metadata.log.max.record.bytes.between.snapshots"
INTERVAL = "metadata.log.max.snapshot.interval.ms"
RATIO = "metadata.snapshot.min.changed_records.ratio"
OLDER_BYTES = "metadata.snapshot.min.new_records.size"
"""The name of BYTES in earlier versions of KIP-630."""
START_LAG = "metadata.start.offset.lag.time.max.ms"

_DEFAULT_BYTES = 20 * 1024 * 1024
_DEFAULT_RATIO = 0.5


def snapshot_policy(properties: Properties) -> SnapshotPolicy:
    """KIP-630's rule, which wants both bytes and ratio, where RATIO or OLDER_BYTES is set. Else
    Kafka's rule, bytes or interval. Raises UsageError, also where the two names of the bytes have
    different values."""
    new_bytes = properties.number(BYTES, _DEFAULT_BYTES, 1)
    interval_ms = properties.number(INTERVAL, 3_600_000)
    if not (properties.text(RATIO) or properties.text(OLDER_BYTES)):
        return SnapshotPolicy(new_bytes, interval_ms)
    older = properties.number(OLDER_BYTES, new_bytes, 1)
    if properties.text(BYTES) and older != new_bytes:
        raise properties.error(OLDER_BYTES, f"{older}, but {BYTES} is {new_bytes}: leave one out")
    return SnapshotPolicy(older, interval_ms, properties.fraction(RATIO, _DEFAULT_RATIO))


def start_lag_ms(properties: Properties) -> int | None:
    """The value of START_LAG in ms, which chooses KIP-630's policy of the log start instead of
    metadata.max.retention.*. None where it isn't set."""
    return properties.number(START_LAG, 0) if properties.text(START_LAG) else None
