"""Runs of batches: many batches of a log, checked as `frames` checks them, and counted together.

Opening a log checks every batch, and needs few facts about each: whether the batch is valid, and
whether it gets an entry in the index. A value for each batch would cost more than the checks, so
the loop of this module keeps its results in local variables. `frames` reads the batches that the
loop doesn't take (of another epoch, control batches, or batches with a fault), and names the fault.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from replica.format.batch import (
    CONTROL_ATTRIBUTE,
    CRC_START,
    HEADER,
    LENGTH_PREFIX,
    MAGIC,
    MIN_BATCH_LENGTH,
)
from replica.format.checksum import crc32c
from replica.format.frames import Frame, frames
from replica.message.primitives import Buffer

_CHECKED = struct.Struct(">qiibIhi8xq")
"""The fields of HEADER up to the largest timestamp, without the base timestamp."""
_BELOW_ALL = -(2**63) - 1
"""A number that is lower than any timestamp."""
_ENDLESS = 2**63
"""A number that is higher than any offset and any file size."""


class Due(NamedTuple):
    """A batch that gets an entry in the index."""

    position: int
    """The byte of the file at which the batch begins."""
    last_offset: int
    """The last offset of the batch (inclusive)."""
    max_timestamp: int
    """The largest timestamp (ms) of the run up to this batch."""
    offset_of_max: int
    """The last offset of the first batch whose largest timestamp is max_timestamp."""


class Run(NamedTuple):
    """Whole batches of one epoch, one after another in a file. A control batch is a run by
    itself."""

    position: int
    """The byte of the file at which the run begins."""
    end_position: int
    """The byte after the last batch."""
    base_offset: int
    """The first offset of the run (inclusive)."""
    last_offset: int
    """The last offset of the run (inclusive)."""
    epoch: int
    first_timestamp: int
    """The largest timestamp (ms) of the first batch."""
    max_timestamp: int
    """The largest timestamp (ms) of all batches."""
    offset_of_max: int
    """The last offset of the first batch with the largest timestamp."""
    is_control: bool
    due: Sequence[Due]

    @property
    def end_offset(self) -> int:
        """The end offset (exclusive)."""
        return self.last_offset + 1


Place: TypeAlias = tuple[int, int, int, int]
"""The place of a run: (its position in a view, the position of the view in the file, its first
offset, the end offset of the batches (exclusive))."""


def _endless() -> int:
    return _ENDLESS


def run_of(frame: Frame, room: int) -> Run:
    """The run of one batch. room: the result of the function `room` of `runs`."""
    due: tuple[Due, ...] = ()
    if room < 0:
        latest = frame.max_timestamp
        due = (Due(frame.position, frame.last_offset, latest, frame.last_offset),)
    return Run(
        frame.position,
        frame.end_position,
        frame.base_offset,
        frame.last_offset,
        frame.epoch,
        frame.max_timestamp,
        frame.max_timestamp,
        frame.last_offset,
        frame.is_control,
        due,
    )


def runs(
    data: Buffer,
    *,
    start: int,
    expected_offset: int | None,
    epoch: int = -1,
    room: Callable[[], int] = _endless,
    interval: int = _ENDLESS,
    end_offset: int = _ENDLESS,
) -> Iterator[Run]:
    """Finds the batches of `data` that begin below `end_offset`, as `frames` does, and raises the
    same errors. See `frames` for start, expected_offset and epoch.

    room: a function that gives a number of bytes. The first batch that begins more than this number
        of bytes behind the beginning of the run gets an entry in the index; for a negative number,
        the run's first batch. `room` is called for each run, after the caller took the previous
        run.
    interval: the same number for the next entry, counted from the beginning of the last batch with
        an entry.
    """
    view = memoryview(data)
    at = 0
    while True:
        run, left = None, room()
        if expected_offset is not None:
            if expected_offset >= end_offset:
                return
            place = at, start, expected_offset, end_offset
            run = _find(view, place, epoch, left, interval)
        if run is None:
            rest = frames(view[at:], start=start + at, expected_offset=expected_offset, epoch=epoch)
            frame = next(rest, None)
            if frame is None or frame.base_offset >= end_offset:
                return
            run = run_of(frame, left)
        yield run
        at, expected_offset, epoch = run.end_position - start, run.end_offset, run.epoch


def plain_run(view: memoryview, place: Place, epoch: int, room: int, interval: int) -> Run | None:
    """The run of valid data batches of this epoch. None if the first batch is invalid, of another
    epoch, or a control batch. room, interval: see `runs`."""
    at, start, expected, end_offset = place
    unpack, crc_of = _CHECKED.unpack_from, crc32c
    prefix_bytes, crc_start = LENGTH_PREFIX.size, CRC_START
    first, base_offset, due = at, expected, list[Due]()
    limit, last_header, end = at + room, len(view) - HEADER.size, len(view)
    max_timestamp = offset_of_max = _BELOW_ALL
    while at <= last_header and expected < end_offset:
        base, length, leader_epoch, magic, crc, attributes, delta, latest = unpack(view, at)
        after = at + prefix_bytes + length
        if (
            base != expected
            or leader_epoch != epoch
            or magic != MAGIC
            or delta < 0
            or length < MIN_BATCH_LENGTH
            or after > end
            or attributes & CONTROL_ATTRIBUTE
            or crc_of(view[at + crc_start : after]) != crc
        ):
            break
        expected = base + delta + 1
        if latest > max_timestamp:
            max_timestamp, offset_of_max = latest, base + delta
        if at > limit:
            due.append(Due(start + at, base + delta, max_timestamp, offset_of_max))
            limit = at + interval
        at = after
    if at == first:
        return None
    return Run(
        start + first,
        start + at,
        base_offset,
        expected - 1,
        epoch,
        _CHECKED.unpack_from(view, first)[-1],
        max_timestamp,
        offset_of_max,
        False,
        due,
    )


FindRun: TypeAlias = Callable[[memoryview, Place, int, int, int], Run | None]
_find: FindRun = plain_run


def use(find: FindRun) -> None:
    """Let `runs` call `find` instead of plain_run in this process. find: a function that finds the
    same batches, but may divide them into more runs."""
    global _find
    _find = find
