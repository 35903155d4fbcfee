"""The leader-epoch cache as a tuple of EpochStart, ascending in epoch and start offset.

Kafka: LeaderEpochFileCache and KafkaMetadataLog, which wraps it. Their lookups differ on purpose,
and have different names here: if the cache gives an undefined answer, the KRaft log gives the
nearest defined answer.
"""

from __future__ import annotations

from bisect import bisect_right

from replica.model.epochs import (
    UNDEFINED_EPOCH,
    UNDEFINED_OFFSET,
    Epochs,
    EpochStart,
    OffsetAndEpoch,
)

UNDEFINED = OffsetAndEpoch(UNDEFINED_OFFSET, UNDEFINED_EPOCH)


def end_offset_for(entries: Epochs, log_end_offset: int, epoch: int) -> OffsetAndEpoch:
    """The largest known epoch <= `epoch` and its end offset (exclusive): the cache's own lookup,
    LeaderEpochFileCache.endOffsetFor.

    The result is UNDEFINED for an empty cache, for epoch -1, and for an epoch above every known
    epoch. For an epoch below every known epoch, the result has this epoch itself with the first
    start offset.
    """
    if epoch == UNDEFINED_EPOCH or not entries:
        return UNDEFINED
    if entries[-1].epoch == epoch:
        return OffsetAndEpoch(log_end_offset, epoch)
    following = bisect_right(entries, epoch, key=lambda entry: entry.epoch)
    if following == len(entries):
        return UNDEFINED
    found = entries[following - 1].epoch if following else epoch
    return OffsetAndEpoch(entries[following].start_offset, found)


def kraft_end_offset_for(
    entries: Epochs,
    log_end_offset: int,
    log_start_snapshot_id: OffsetAndEpoch | None,
    epoch: int,
) -> OffsetAndEpoch:
    """The KRaft log's own lookup: KafkaMetadataLog.endOffsetForEpoch.

    For an epoch above the newest epoch, the result is the log end with the newest epoch. For an
    epoch below the first epoch, it is the id of the snapshot at the log start, if there is one.
    Otherwise it is the result of end_offset_for. Without any entry, the newest epoch is that of the
    snapshot at which the empty log starts, or 0 (lastFetchedEpoch).
    """
    found = end_offset_for(entries, log_end_offset, epoch)
    if found == UNDEFINED:
        return OffsetAndEpoch(log_end_offset, last_fetched_epoch(entries, log_start_snapshot_id))
    if (
        log_start_snapshot_id is not None
        and found.offset == log_start_snapshot_id.offset
        and found.epoch == epoch
    ):
        return log_start_snapshot_id
    return found


def last_fetched_epoch(entries: Epochs, log_start_snapshot_id: OffsetAndEpoch | None) -> int:
    """The epoch of a follower's last record, as its fetch names it. For a log without records, it
    is the epoch of the snapshot at which the log starts, or 0 without such a snapshot."""
    if entries:
        return entries[-1].epoch
    return 0 if log_start_snapshot_id is None else log_start_snapshot_id.epoch


def epoch_for_offset(entries: Epochs, offset: int) -> int | None:
    """The epoch in which the record at `offset` was written, or would be written; None below the
    first start offset."""
    following = bisect_right(entries, offset, key=lambda entry: entry.start_offset)
    return entries[following - 1].epoch if following else None


def assign(entries: Epochs, epoch: int, start_offset: int) -> Epochs:
    """The entries after `epoch` was found to start at `start_offset`.

    Nothing changes if the last entry has the same epoch and doesn't start later. Otherwise the new
    entry replaces all entries of the same or a later epoch, and all entries that start at the same
    or a later offset. So epochs and offsets stay strictly ascending. Negative arguments are a bug
    of the caller.
    """
    assert epoch >= 0, "an epoch is never negative"
    assert start_offset >= 0, "an offset is never negative"
    if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
        return entries
    kept = tuple(e for e in entries if e.epoch < epoch and e.start_offset < start_offset)
    return (*kept, EpochStart(epoch, start_offset))


def truncate_from_end(entries: Epochs, end_offset: int) -> Epochs:
    """The entries of a log that was cut at `end_offset` (exclusive). An entry that starts at
    `end_offset` is removed too.

    A negative offset changes nothing.
    """
    if end_offset < 0:
        return entries
    return tuple(entry for entry in entries if entry.start_offset < end_offset)


def truncate_from_start(entries: Epochs, start_offset: int) -> Epochs:
    """The entries of a log that starts at `start_offset` (inclusive).

    The epoch in force at this offset is kept, and now starts at it, even if the offset is above the
    log end: the cache never loses its last epoch.
    """
    first_kept = bisect_right(entries, start_offset, key=lambda entry: entry.start_offset)
    if first_kept == 0:
        return entries
    return (EpochStart(entries[first_kept - 1].epoch, start_offset), *entries[first_kept:])
