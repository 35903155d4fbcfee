"""Finds where the times of a log's records go back. Records have the time of their leader's clock,
so a record may have an earlier time than the record before it, if the clock was set or the next
leader's clock is slow. The order of the log is the order of its offsets. This module also judges
the time in a snapshot's header, LastContainedLogTimestamp."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from replica.doctor.check.catalogue import log, snapshots
from replica.doctor.check.examined import Examined
from replica.doctor.check.rule import Finding
from replica.format.directory import SnapshotFile
from replica.format.segment import chosen, numbers_of
from replica.model.epochs import OffsetAndEpoch
from replica.words import ms_text

LEAST_STEP_MS = 1000
"""The smallest step (ms) that counts. The clocks of two controllers often differ by less."""
_SHOWN_STEPS = 3


class ClockStep(NamedTuple):
    """A batch with an earlier time than the previous batch."""

    offset: int
    """The base offset of the batch with the earlier time."""
    before: int
    """The newest time in the previous batch, in ms since 1970 (UTC)."""
    at: int
    """The first time in the batch with the earlier time, in ms since 1970 (UTC)."""


def clock_steps(batches: Iterable[tuple[int, int, int, int]]) -> Iterator[ClockStep]:
    """The steps by LEAST_STEP_MS or more. batches: (base offset, next offset, base timestamp, max
    timestamp) of each batch in the order of the log; a negative timestamp means no time. Batches
    between which offsets are missing are not compared."""
    end, before = -1, -1
    for base_offset, next_offset, first, newest in batches:
        if base_offset == end and min(first, before) >= 0 and before - first >= LEAST_STEP_MS:
            yield ClockStep(base_offset, before, first)
        end, before = next_offset, newest


def steps_of(examined: Examined) -> Iterator[ClockStep]:
    """The steps in a directory's log."""
    names = ("base_offset", "next_offset", "base_timestamp", "max_timestamp", "crc_valid")
    return clock_steps(
        numbers[:4]  # type: ignore[misc]
        for segment in examined.directory.segments
        for numbers in numbers_of(segment.scan.batches, *names)
        if numbers[4]
    )


def judge_clock(examined: Examined) -> Iterator[Finding]:
    """The finding about a log whose times go back."""
    steps = list(steps_of(examined))
    if steps:
        yield log.CLOCK_WENT_BACK.at("", step_text(steps), offset=steps[0].offset)


def step_text(steps: list[ClockStep]) -> str:
    """The steps as a text, such as: times go back at offset 83, from ... to ...."""
    shown = [
        f"offset {one.offset}, from {ms_text(one.before)} to {ms_text(one.at)}"
        for one in steps[:_SHOWN_STEPS]
    ]
    more = len(steps) - len(shown)
    rest = f"; and at {more} more" if more else ""
    return f"times go back at {'; at '.join(shown)}{rest}"


def judge_snapshot_time(
    examined: Examined, snapshot: SnapshotFile, snapshot_id: OffsetAndEpoch
) -> Iterator[Finding]:
    """The finding about a LastContainedLogTimestamp that Kafka can't have written into a snapshot
    with this end.

    Kafka takes this time from the last batch that was applied (MetadataBatchLoader). A follower
    reads the batch from its log. A leader reads the time from the batch's buffer after it has
    returned the buffer (KafkaRaftClient.appendBatch, Kafka 3.7 to 4.4), so a later batch may have
    written its own time into the buffer. If this later batch never reached the log, it was the last
    batch of the epoch.
    """
    told = snapshot.content.last_contained_log_timestamp
    end, epoch = snapshot_id.offset, snapshot_id.epoch
    written = [record.timestamp for _, record in examined.records(end - 1, end)]
    if told is None or not written or told == written[0]:
        return
    later = [
        batch.header.max_timestamp
        for segment in examined.directory.segments
        if segment.end_offset > end
        for batch in chosen(
            segment.scan.batches,
            ("base_offset", "leader_epoch"),
            lambda first, of_epoch: (first >= end) & (of_epoch == epoch),
        )
    ]
    is_before = told < written[0]
    is_between = not examined.hides_entries and told < max(later, default=told)
    if told not in later and (is_before or is_between):
        message = (
            f"{told} in the header; the record at offset {end - 1} was appended {written[0]}, and "
            f"no later batch of epoch {epoch} at that time"
        )
        place = {"offset": end, "epoch": epoch}
        yield snapshots.SNAPSHOT_TIMESTAMP.at(snapshot.file.path, message, position=0, **place)
