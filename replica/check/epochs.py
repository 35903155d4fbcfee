"""Leader epochs as the log itself tells them: LeaderChange records and the batches behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from replica.check.catalogue import log
from replica.check.examined import Examined
from replica.check.rule import Finding
from replica.format.control import LeaderChange
from replica.format.directory import SegmentFile, SnapshotFile
from replica.format.segment import LocatedBatch

CHURN_EPOCHS = 20
"""So many epochs within
CHURN_MS: this time, are worth a word."""
CHURN_MS = 60 * 60 * 1000

MAX_BATCH_BYTES = 8 * 1024 * 1024
"""Kafka: KafkaRaftClient.MAX_BATCH_SIZE_BYTES, the default of internal.metadata.max.batch.size.in
.bytes since 4.1."""


@dataclass(frozen=True, slots=True)
class LeaderChangeBatch:
    """A LeaderChange record where it lies. timestamp: ms."""

    path: str
    position: int
    offset: int
    epoch: int
    timestamp: int
    message: LeaderChange


@dataclass(frozen=True, slots=True)
class EpochRun:
    """Batches without a hole from one LeaderChange, or hole, to the next.

    began: the LeaderChange, None behind a hole or a deleted head. epoch: that of most batches.
    """

    batches: tuple[tuple[SegmentFile, LocatedBatch], ...]
    began: LeaderChangeBatch | None
    epoch: int


def leader_changes(examined: Examined) -> tuple[LeaderChangeBatch, ...]:
    """Those of the log, in its order."""
    return tuple(
        LeaderChangeBatch(
            segment.file.path,
            batch.position,
            record.offset,
            batch.header.leader_epoch,
            record.timestamp,
            message,
        )
        for segment in examined.directory.segments
        for batch, record, message in examined.control_records(segment)
        if isinstance(message, LeaderChange)
    )


def epoch_runs(examined: Examined, changes: Sequence[LeaderChangeBatch]) -> tuple[EpochRun, ...]:
    """The log's batches with a right CRC, in runs."""
    begins = {(change.path, change.position): change for change in changes}
    runs: list[EpochRun] = []
    current: list[tuple[SegmentFile, LocatedBatch]] = []
    began: LeaderChangeBatch | None = None
    expected: int | None = None
    for segment in examined.directory.segments:
        for batch in segment.scan.batches:
            if not batch.crc_valid:
                continue
            change = begins.get((segment.file.path, batch.position))
            is_hole = batch.header.base_offset != expected
            if current and (change or (is_hole and not segment.scan.follows_unlisted(batch))):
                runs.append(_run(current, began))
                current, began = [], None
            began = change or began
            current.append((segment, batch))
            expected = batch.header.next_offset
    if current:
        runs.append(_run(current, began))
    return tuple(runs)


def _run(
    batches: list[tuple[SegmentFile, LocatedBatch]], began: LeaderChangeBatch | None
) -> EpochRun:
    counted = Counter(batch.header.leader_epoch for _, batch in batches)
    # of equally many the first one met wins: the LeaderChange's own
    ((epoch, _),) = counted.most_common(1)
    return EpochRun(tuple(batches), began, epoch)


def judge_epochs(runs: Sequence[EpochRun]) -> Iterator[Finding]:
    """Batches of another epoch than their run's, and runs whose epoch doesn't rise."""
    highest: int | None = None
    for run in runs:
        yield from _strangers(run)
        lowest = -1 if highest is None else highest + (run.began is not None)
        if run.epoch < lowest:
            segment, batch = run.batches[0]
            offset = batch.header.base_offset
            yield log.EPOCH_GOES_BACK.at(
                segment.file.path,
                f"epoch {run.epoch} begins at offset {offset}, after epoch {highest}",
                position=batch.position,
                offset=offset,
                epoch=run.epoch,
            )
        highest = run.epoch if highest is None else max(highest, run.epoch)


def _strangers(run: EpochRun) -> Iterator[Finding]:
    source = "its neighbours have"
    if run.began is not None:
        source = f"the LeaderChange record at offset {run.began.offset} began"
    if run.began is not None and run.began.epoch != run.epoch:
        source = "all that it leads has"
    for epoch, group in groupby(run.batches, key=lambda located: located[1].header.leader_epoch):
        if epoch == run.epoch:
            continue
        members = list(group)
        segment, batch = members[0]
        first, last = batch.header.base_offset, members[-1][1].header.last_offset
        yield log.EPOCH_MISMATCH.at(
            segment.file.path,
            f"offsets {first} to {last} have epoch {epoch}, but {source} epoch {run.epoch}",
            position=batch.position,
            offset=first,
            epoch=epoch,
        )


def judge_churn(changes: Sequence[LeaderChangeBatch]) -> Iterator[Finding]:
    """The hour with the most epochs, if they are many; elections without a winner count too."""
    best: tuple[int, int, int] | None = None
    first = 0
    for last, change in enumerate(changes):
        while change.timestamp - changes[first].timestamp > CHURN_MS:
            first += 1
        count = change.epoch - changes[first].epoch
        if count >= CHURN_EPOCHS and (best is None or count > best[0]):
            best = count, first, last
    if best is not None:
        count, first, last = best
        begin, end = changes[first], changes[last]
        minutes = max(1, (end.timestamp - begin.timestamp) // 60_000)
        yield log.EPOCH_CHURN.at(
            begin.path,
            f"{count} new epochs in {minutes} minutes, {begin.epoch} to {end.epoch}",
            position=begin.position,
            offset=begin.offset,
            epoch=begin.epoch,
        )


def judge_sizes(examined: Examined) -> Iterator[Finding]:
    """Batches above Kafka's limit, in the log and in snapshots."""
    files: tuple[SegmentFile | SnapshotFile, ...] = (
        *examined.directory.segments,
        *examined.directory.snapshots,
    )
    for file in files:
        for batch in file.scan.batches:
            header = batch.header
            if header.size_bytes > MAX_BATCH_BYTES:
                yield log.BATCH_TOO_LARGE.at(
                    file.file.path,
                    f"a batch of {header.size_bytes} bytes with {header.record_count} records, "
                    f"the limit is {MAX_BATCH_BYTES}",
                    position=batch.position,
                    offset=header.base_offset,
                    epoch=header.leader_epoch,
                )
