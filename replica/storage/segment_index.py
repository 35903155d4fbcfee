"""The two sparse indexes of one segment as they grow (Kafka: LogSegment.append, OffsetIndex,
TimeIndex).

The bytes of the indexes depend only on the batches, so a rebuilt index has the same bytes as the
original. Kafka adds at most one entry for each append, which may have several batches. Here each
batch may get an entry. So the bytes equal those of Kafka's indexes if Kafka appended one batch at a
time, as a leader does.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise

from replica.format.frames import Frame
from replica.format.index import OFFSET_ENTRY, TIME_ENTRY
from replica.format.runs import Run

MAX_RELATIVE_OFFSET = 2**31 - 1


@dataclass(slots=True)
class SegmentIndex:
    """The two indexes of a segment."""

    base_offset: int
    interval_bytes: int
    """The number of log bytes between two entries (Kafka: index.interval.bytes, 4096)."""
    offsets: bytearray = field(default_factory=bytearray)
    """The bytes of the offset index, without the zeros that Kafka preallocates."""
    times: bytearray = field(default_factory=bytearray)
    """The bytes of the time index, without the zeros that Kafka preallocates."""
    max_timestamp: int = -1
    _offset_of_max: int = 0
    _bytes_since_entry: int = 0

    @property
    def room(self) -> int:
        """The number of bytes that may follow the last batch before a batch gets an index entry;
        negative if the next batch gets an entry."""
        return self.interval_bytes - self._bytes_since_entry

    def add(self, run: Run) -> None:
        """Add the next batches, and their index entries. The caller has found the run with this
        index's `room`."""
        for due in run.due:
            self._note_time(due.max_timestamp, due.offset_of_max)
            self.offsets += OFFSET_ENTRY.pack(due.last_offset - self.base_offset, due.position)
            self._add_time()
        self._note_time(run.max_timestamp, run.offset_of_max)
        if run.due:
            self._bytes_since_entry = run.end_position - run.due[-1].position
        else:
            self._bytes_since_entry += run.end_position - run.position

    def close(self) -> None:
        """Add the segment's largest timestamp as the last entry, because the segment is
        complete."""
        self._add_time()

    def is_full(self, max_bytes: int) -> bool:
        """Whether Kafka would start a new segment because an index file of `max_bytes` is full."""
        return (
            len(self.offsets) // OFFSET_ENTRY.size >= max_bytes // OFFSET_ENTRY.size
            or len(self.times) // TIME_ENTRY.size >= max_bytes // TIME_ENTRY.size - 1
        )

    def _note_time(self, max_timestamp: int, last_offset: int) -> None:
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self._offset_of_max = last_offset - self.base_offset

    def _add_time(self) -> None:
        last = -1
        if self.times:
            last, _ = TIME_ENTRY.unpack_from(self.times, len(self.times) - TIME_ENTRY.size)
        if self.max_timestamp > last:
            self.times += TIME_ENTRY.pack(self.max_timestamp, self._offset_of_max)


def resumed(
    base_offset: int, interval_bytes: int, offsets: bytes, times: bytes, last: Frame
) -> SegmentIndex | None:
    """The indexes after `last`, the batch of the last entry of `offsets`. None if the time index
    can't belong to `offsets`.

    times: the bytes of the whole time index on the disk. The entries of the time index must rise,
        and for each entry of the offset index the time index must have the largest timestamp up to
        that entry. If a clock went back, and a crash removed the end of the time index, the largest
        timestamp may be missing, and this function doesn't notice the lack.
    """
    end = last.last_offset - base_offset
    known = [entry for entry in TIME_ENTRY.iter_unpack(_whole(times)) if entry[1] <= end]
    rises = all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(known))
    if not known or not rises or known[-1][0] < last.max_timestamp:
        return None
    index = SegmentIndex(base_offset, interval_bytes, bytearray(offsets))
    index.times = bytearray(times[: len(known) * TIME_ENTRY.size])
    index.max_timestamp, index._offset_of_max = known[-1]
    index._bytes_since_entry = last.size
    return index


def _whole(times: bytes) -> bytes:
    """The complete entries of a time index. A crash may have left an incomplete entry at the end,
    which is left out."""
    return times[: len(times) // TIME_ENTRY.size * TIME_ENTRY.size]


def position_before(offsets: bytes | bytearray, relative_offset: int) -> int:
    """The position (byte), by an offset index, of the batch that holds the offset or of an earlier
    batch."""
    count = _count_below(offsets, relative_offset + 1)
    if count == 0:
        return 0
    (_, position) = OFFSET_ENTRY.unpack_from(offsets, (count - 1) * OFFSET_ENTRY.size)
    return int(position)


def entries_below(offsets: bytes, relative_offset: int) -> bytes:
    """The entries of an offset index whose batches end below the offset."""
    return offsets[: _count_below(offsets, relative_offset) * OFFSET_ENTRY.size]


def last_entry(offsets: bytes) -> tuple[int, int]:
    """The relative offset in the last entry of an offset index, and the position (byte) of that
    entry's batch."""
    relative, position = OFFSET_ENTRY.unpack_from(offsets, len(offsets) - OFFSET_ENTRY.size)
    return int(relative), int(position)


def _count_below(offsets: bytes | bytearray, relative_offset: int) -> int:
    def relative(number: int) -> int:
        return int(OFFSET_ENTRY.unpack_from(offsets, number * OFFSET_ENTRY.size)[0])

    return bisect_left(range(len(offsets) // OFFSET_ENTRY.size), relative_offset, key=relative)


def synced_entries(offsets: bytes) -> bytes:
    """The entries of the newest segment's offset index, if each of them was written after its batch
    was synced; b"" if this is unknown.

    An entry that a crash left incomplete points to an earlier batch, because its numbers are
    written with the high bytes first. A preallocated file belongs to a running Kafka, which writes
    entries without a sync of the log.
    """
    entries = ascending_prefix(offsets)
    rest = offsets[len(entries) :]
    is_preallocated = len(rest) >= OFFSET_ENTRY.size and not any(rest)
    return b"" if is_preallocated else entries


def ascending_prefix(offsets: bytes) -> bytes:
    """The entries of an offset index before the first entry that doesn't rise: the part of the
    index that a crash has left, or the used part of a preallocated file."""
    last_relative, last_position = -1, 0
    used = len(offsets) // OFFSET_ENTRY.size * OFFSET_ENTRY.size
    entries = OFFSET_ENTRY.iter_unpack(memoryview(offsets)[:used])
    for number, (relative, position) in enumerate(entries):
        if relative <= last_relative or position <= last_position:
            return offsets[: number * OFFSET_ENTRY.size]
        last_relative, last_position = relative, position
    return offsets[:used]


def shared_prefix(one: bytes, other: bytes | bytearray) -> int:
    """The number of bytes at the beginning that are equal in both values."""
    shortest = min(len(one), len(other))
    if one[:shortest] == other[:shortest]:
        return shortest
    return next(at for at in range(shortest) if one[at] != other[at])
