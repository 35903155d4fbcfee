"""Snapshot ids (KIP-630): the end offset (exclusive) of a snapshot, and the epoch of its last
record."""

from __future__ import annotations

from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch, election_order

BOOTSTRAP_SNAPSHOT = OffsetAndEpoch(0, 0)
"""Kafka.BOOTSTRAP_SNAPSHOT_ID: the snapshot that formatting writes; it contains no log entry."""


def is_newer_than_log(snapshot_id: OffsetAndEpoch, log_end: int, last_epoch: int) -> bool:
    """Whether a snapshot has a higher epoch than a log, or the same epoch and a higher end offset.
    Then the log restarts at the snapshot's end (KafkaMetadataLog.truncateToLatestSnapshot).

    log_end: exclusive. last_epoch: of the log's last record, UNDEFINED_EPOCH for an empty log.
    """
    if snapshot_id == BOOTSTRAP_SNAPSHOT:
        return False
    if last_epoch == UNDEFINED_EPOCH:
        return snapshot_id.offset > log_end
    return election_order(snapshot_id) > (last_epoch, log_end)
