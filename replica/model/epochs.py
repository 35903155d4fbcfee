"""Offsets and their leader epochs (KIP-101, KIP-595)."""

from __future__ import annotations

from dataclasses import dataclass

UNDEFINED_EPOCH = -1
"""The number for no epoch in Kafka's protocol."""

UNDEFINED_OFFSET = -1
"""The number for no offset in Kafka's protocol."""


@dataclass(frozen=True, slots=True, order=True)
class OffsetAndEpoch:
    """An offset and its leader epoch (Kafka: OffsetAndEpoch).

    In a snapshot id, `offset` is the end offset (exclusive) of the snapshot.
    """

    offset: int
    epoch: int


@dataclass(frozen=True, slots=True, order=True)
class EpochStart:
    """The first offset written in a leader epoch (Kafka: EpochEntry)."""

    epoch: int
    start_offset: int


Epochs = tuple[EpochStart, ...]
"""The leader-epoch cache of a log: each epoch with its first offset, ascending."""


def last_epoch_of(epochs: Epochs) -> int:
    """The epoch of the last record; UNDEFINED_EPOCH for an empty log."""
    return epochs[-1].epoch if epochs else UNDEFINED_EPOCH


def election_order(position: OffsetAndEpoch) -> tuple[int, int]:
    """The sort key of log ends and snapshot ids, by how up to date they are: the last epoch, then
    the end offset (KIP-595, Vote; Kafka: OffsetAndEpoch.compareTo)."""
    return (position.epoch, position.offset)


BOOTSTRAP_SNAPSHOT = OffsetAndEpoch(0, 0)
"""The id of the snapshot that formatting writes, which contains no record of a log (Kafka:
BOOTSTRAP_SNAPSHOT_ID)."""


def is_newer_than_log(snapshot_id: OffsetAndEpoch, log_end: int, last_epoch: int) -> bool:
    """Whether a snapshot has a higher epoch than a log, or the same epoch and a higher end offset.
    Then the log restarts at the snapshot's end (KafkaMetadataLog.truncateToLatestSnapshot).

    log_end: exclusive. last_epoch: the epoch of the log's last record; UNDEFINED_EPOCH for an empty
    log.
    """
    if snapshot_id == BOOTSTRAP_SNAPSHOT:
        return False
    if last_epoch == UNDEFINED_EPOCH:
        return snapshot_id.offset > log_end
    return election_order(snapshot_id) > (last_epoch, log_end)
