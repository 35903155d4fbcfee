"""Judges indexes by the batches of their segments, and finds leftover files.

A directory's indexes are read before their segment (by name), so that a running node's index is
never ahead of the log with which it is compared. An index of 0 bytes is legal.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from replica.doctor.check.catalogue import files
from replica.doctor.check.examined import Examined
from replica.doctor.check.rule import Finding
from replica.format.directory import SegmentFile
from replica.format.file_names import INDEX_KINDS
from replica.format.index import OFFSET_ENTRY, TIME_ENTRY, OffsetIndex, TimeIndex
from replica.format.segment import numbers_of
from replica.format.snapshot import SnapshotState

_MOST = 2**63 - 1
"""A last offset above every offset that an index can hold."""


def judge_indexes(examined: Examined) -> Iterator[Finding]:
    """Judge each entry of each index. Only the first wrong entry of a file is reported."""
    segments = {segment.base_offset: segment for segment in examined.directory.segments}
    for index in examined.directory.indexes:
        segment = segments.get(index.file.name.base_offset or 0)
        if segment is None or index.file.name.deleted:
            continue
        if isinstance(index.content, OffsetIndex):
            wrong = _wrong_offsets(index.content, segment, is_cut=examined.breaks_off)
            size = OFFSET_ENTRY.size
        else:
            wrong = _wrong_times(index.content, segment, is_cut=examined.breaks_off)
            size = TIME_ENTRY.size
        for number, offset, what in islice(wrong, 1):
            message, position = f"entry {number}: {what}", number * size
            yield files.INDEX_MISMATCH.at(
                index.file.path, message, position=position, offset=offset
            )


def _wrong_offsets(
    content: OffsetIndex, segment: SegmentFile, *, is_cut: bool
) -> Iterator[tuple[int, int, str]]:
    """(index of the entry, its offset, what is wrong) for each wrong entry. is_cut: whether the
    node's segment may continue behind the end of this segment, as in Examined.breaks_off."""
    asked = {entry.position for entry in content.entries}
    numbers = numbers_of(segment.scan.batches, "position", "last_offset")
    last_offsets = {position: last for position, last in numbers if position in asked}
    for number, entry in enumerate(content.entries):
        offset = segment.base_offset + entry.relative_offset
        last = last_offsets.get(entry.position)
        if last == offset:
            continue
        if last is None and entry.position < segment.scan.sparse_until:
            continue  # these bytes were judged when they were read
        if last is None and _is_damaged(segment, entry.position):
            continue
        if is_cut and entry.position >= segment.scan.end_position:
            continue
        at = "no batch starts there"
        if last is not None:
            at = f"the batch there ends at offset {last}"
        yield number, offset, f"offset {offset} at byte {entry.position}, but {at}"


def _wrong_times(
    content: TimeIndex, segment: SegmentFile, *, is_cut: bool
) -> Iterator[tuple[int, int, str]]:
    """(index of the entry, its offset, what is wrong) for each wrong entry of a time index. is_cut:
    as in _wrong_offsets."""
    if not content.entries:
        return
    starts, lasts, newest = _times(segment)
    new = segment.scan.new_batches
    new_offset = segment.end_offset if not new else new[0].header.base_offset
    is_sparse = segment.scan.sparse_until > 0
    for number, entry in enumerate(content.entries):
        offset = segment.base_offset + entry.relative_offset
        if is_sparse and offset < new_offset:
            continue  # these bytes were judged when they were read
        at = bisect_right(starts, offset) - 1
        held = at >= 0 and lasts[at] >= offset
        if held and newest[at] == entry.timestamp:
            continue
        if not held and (segment.scan.damages or (is_cut and offset >= segment.end_offset)):
            continue
        what = "the segment doesn't hold that offset"
        if held:
            what = f"the newest batch up to there has {newest[at]}"
        yield number, offset, f"time {entry.timestamp} at offset {offset}, but {what}"


def _times(segment: SegmentFile) -> tuple[array[int], array[int], array[int]]:
    """Three arrays with a value for each batch: its first offset, its last offset (inclusive), and
    the largest timestamp (ms) up to its end."""
    starts, lasts, newest = array("q"), array("q"), array("q")
    names = ("base_offset", "last_offset", "max_timestamp")
    for start, last, timestamp in numbers_of(segment.scan.batches, *names):
        starts.append(start)
        lasts.append(min(last, _MOST))
        newest.append(max(timestamp, newest[-1]) if newest else timestamp)
    return starts, lasts, newest


def _is_damaged(segment: SegmentFile, position: int) -> bool:
    damages = segment.scan.damages
    following = bisect_right(damages, position, key=lambda damage: damage.position)
    return (
        following > 0 and position < damages[following - 1].position + damages[following - 1].length
    )


def judge_leftovers(examined: Examined) -> Iterator[Finding]:
    """Findings about files that are about to be deleted, and about indexes whose segment is
    missing."""
    directory = examined.directory
    segments = {segment.base_offset for segment in directory.segments}
    for file in directory.files:
        name = file.name
        part = name.snapshot is not None and name.snapshot.state is SnapshotState.PART
        if part or name.deleted:
            what = "an unfinished snapshot" if part else "about to be deleted"
            message = f"{what}, {file.size_bytes} bytes"
            yield files.LEFTOVER.at(file.path, message, offset=name.base_offset)
        elif name.kind in INDEX_KINDS and examined.is_complete and name.base_offset not in segments:
            message = f"there is no segment {name.base_offset}"
            yield files.INDEX_WITHOUT_SEGMENT.at(file.path, message, offset=name.base_offset)
