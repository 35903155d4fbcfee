"""Judges the leader epochs of a log, by LeaderChange records and the batches behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from replica.doctor.check.catalogue import log
from replica.doctor.check.examined import Examined, LeaderChangeBatch
from replica.doctor.check.rule import Finding
from replica.format.directory import SegmentFile
from replica.format.segment import chosen, numbers_of
from replica.format.walk import LocatedBatch
from replica.words import counted

CHURN_EPOCHS = 20
"""The number of epochs within CHURN_MS for which there is a finding."""
CHURN_MS = 60 * 60 * 1000

MAX_BATCH_BYTES = 8 * 1024 * 1024
"""Kafka: KafkaRaftClient.MAX_BATCH_SIZE_BYTES, since 4.1 the default of
internal.metadata.max.batch.size.in.bytes."""


@dataclass(frozen=True, slots=True)
class EpochStretch:
    """Batches of one epoch that follow each other."""

    segment: SegmentFile
    """The segment that holds the first batch."""
    first: LocatedBatch
    last: LocatedBatch
    count: int
    """The number of batches."""

    @property
    def epoch(self) -> int:
        return self.first.header.leader_epoch


@dataclass(frozen=True, slots=True)
class EpochRun:
    """Batches that follow each other without a hole. A run begins at a LeaderChange record or
    behind a hole, and ends before the next LeaderChange record or hole."""

    stretches: tuple[EpochStretch, ...]
    """The batches in stretches of one epoch each; neighbours have different epochs."""
    began: LeaderChangeBatch | None
    """The LeaderChange record with which the run begins; None if the run begins behind a hole, or
    if the beginning of the log was deleted."""
    epoch: int
    """The epoch of most batches."""

    @property
    def start(self) -> int:
        """The first offset (inclusive)."""
        return self.stretches[0].first.header.base_offset

    @property
    def end(self) -> int:
        """The end offset (exclusive)."""
        return self.stretches[-1].last.header.next_offset


def epoch_runs(examined: Examined, changes: Sequence[LeaderChangeBatch]) -> tuple[EpochRun, ...]:
    """The log's batches with a valid CRC, in runs."""
    begins = {(change.path, change.position): change for change in changes}
    runs: list[EpochRun] = []
    current: list[EpochStretch] = []
    began: LeaderChangeBatch | None = None
    expected: int | None = None
    for segment in examined.directory.segments:
        for stretch in _stretches(segment, begins):
            first = stretch.first
            change = begins.get((segment.file.path, first.position))
            is_hole = first.header.base_offset != expected
            if current and (change or (is_hole and not segment.scan.follows_unlisted(first))):
                runs.append(_run(current, began))
                current, began = [], None
            began = change or began
            if current and current[-1].epoch == stretch.epoch:
                old = current[-1]
                current[-1] = replace(old, last=stretch.last, count=old.count + stretch.count)
            else:
                current.append(stretch)
            expected = stretch.last.header.next_offset
    if current:
        runs.append(_run(current, began))
    return tuple(runs)


def _stretches(
    segment: SegmentFile, begins: Mapping[tuple[str, int], LeaderChangeBatch]
) -> Iterator[EpochStretch]:
    """The batches of a segment with a valid CRC. A stretch begins at each new epoch, each
    LeaderChange record and each hole."""
    path, batches = segment.file.path, segment.scan.batches
    names = ("position", "base_offset", "next_offset", "leader_epoch", "crc_valid")
    first = last = count = 0
    before: tuple[int, int] | None = None
    for place, (position, start, end, epoch, is_valid) in enumerate(numbers_of(batches, *names)):
        if not is_valid:
            continue
        if before != (start, epoch) or (path, position) in begins:
            if count:
                yield EpochStretch(segment, batches[first], batches[last], count)
            first, count = place, 0
        last, count, before = place, count + 1, (end, epoch)
    if count:
        yield EpochStretch(segment, batches[first], batches[last], count)


def _run(stretches: Sequence[EpochStretch], began: LeaderChangeBatch | None) -> EpochRun:
    batches: Counter[int] = Counter()
    for stretch in stretches:
        batches[stretch.epoch] += stretch.count
    # if two epochs have equally many batches, the first epoch (of the LeaderChange record) is
    # chosen
    ((epoch, _),) = batches.most_common(1)
    return EpochRun(tuple(stretches), began, epoch)


def judge_epochs(runs: Sequence[EpochRun]) -> Iterator[Finding]:
    """Findings about batches whose epoch isn't that of their run, and about runs whose epoch goes
    back, or doesn't rise with a LeaderChange record."""
    highest: int | None = None
    for run in runs:
        yield from _strangers(run)
        lowest = -1 if highest is None else highest + (run.began is not None)
        if run.epoch < lowest:
            first = run.stretches[0]
            yield log.EPOCH_GOES_BACK.at(
                first.segment.file.path,
                f"epoch {run.epoch} begins at offset {run.start}, after epoch {highest}",
                position=first.first.position,
                offset=run.start,
                epoch=run.epoch,
            )
        highest = run.epoch if highest is None else max(highest, run.epoch)


def _strangers(run: EpochRun) -> Iterator[Finding]:
    source = "its neighbours have"
    if run.began is not None:
        source = f"the LeaderChange record at offset {run.began.offset} began"
    if run.began is not None and run.began.epoch != run.epoch:
        source = "all that it leads has"
    for stretch in run.stretches:
        if stretch.epoch == run.epoch:
            continue
        first, last = stretch.first.header.base_offset, stretch.last.header.last_offset
        yield log.EPOCH_MISMATCH.at(
            stretch.segment.file.path,
            f"offsets {first} to {last} have epoch {stretch.epoch}, but {source} epoch {run.epoch}",
            position=stretch.first.position,
            offset=first,
            epoch=stretch.epoch,
        )


def judge_churn(changes: Sequence[LeaderChangeBatch]) -> Iterator[Finding]:
    """A finding about the hour with the most epochs, if there are many. Epochs of elections without
    a winner count too."""
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
            f"{count} new epochs in {counted(minutes, 'minute')}, {begin.epoch} to {end.epoch}",
            position=begin.position,
            offset=begin.offset,
            epoch=begin.epoch,
        )


def judge_sizes(examined: Examined) -> Iterator[Finding]:
    """Findings about batches of the log and of snapshots that are larger than Kafka's limit."""
    for file in examined.logs:
        for batch in chosen(
            file.scan.batches, ("size_bytes",), lambda size: size > MAX_BATCH_BYTES
        ):
            header = batch.header
            yield log.BATCH_TOO_LARGE.at(
                file.file.path,
                f"a batch of {header.size_bytes} bytes with {header.record_count} records, "
                f"the limit is {MAX_BATCH_BYTES}",
                position=batch.position,
                offset=header.base_offset,
                epoch=header.leader_epoch,
            )
