"""Snapshot ids (KIP-630): the end offset of what a snapshot contains, and the epoch of its last
record."""

from __future__ import annotations

from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch, election_order

BOOTSTRAP_SNAPSHOT = OffsetAndEpoch(0, 0)
"""Kafka.BOOTSTRAP_SNAPSHOT_ID: the snapshot that formatting writes; it contains no log entry."""


def is_newer_than_log(snapshot_id: OffsetAndEpoch, log_end: int, last_epoch: int) -> bool:
    """Whether a snapshot takes the place of a log, which then restarts at the snapshot's end
    (KafkaMetadataLog.truncateToLatestSnapshot): its epoch is higher, or the same and its end
    further on.

    log_end: exclusive. last_epoch: of the log's last record, UNDEFINED_EPOCH where it holds none.
    """
    if snapshot_id == BOOTSTRAP_SNAPSHOT:
        return False
    if last_epoch == UNDEFINED_EPOCH:
        return snapshot_id.offset > log_end
    return election_order(snapshot_id) > (last_epoch, log_end)
