"""Offsets and the leader epochs that go with them (KIP-101, KIP-595)."""

from __future__ import annotations

from dataclasses import dataclass

UNDEFINED_EPOCH = -1
"""Stands for no epoch, as on Kafka's wire."""

UNDEFINED_OFFSET = -1
"""Stands for no offset, as on Kafka's wire."""


@dataclass(frozen=True, slots=True, order=True)
class OffsetAndEpoch:
    """An offset and the leader epoch that goes with it (Kafka: OffsetAndEpoch).

    As a snapshot id, `offset` is the exclusive end of what the snapshot contains.
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
    """The epoch of the last record; UNDEFINED_EPOCH for a log that holds none."""
    return epochs[-1].epoch if epochs else UNDEFINED_EPOCH


def election_order(position: OffsetAndEpoch) -> tuple[int, int]:
    """Sorts log ends and snapshot ids by how up to date they are: last epoch first, then the end
    offset (KIP-595, Vote; Kafka: OffsetAndEpoch.compareTo)."""
    return (position.epoch, position.offset)


BOOTSTRAP_SNAPSHOT = OffsetAndEpoch(0, 0)
"""Kafka.BOOTSTRAP_SNAPSHOT_ID: the snapshot that formatting writes; it contains no log entry."""


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
