"""Checks closed segments, which were complete and synced before the next segment was made.

So closed segments are trusted when a log is opened: only the batches behind the last entry of a
segment's index are read. A whole segment is read only if an index is missing or wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from replica.errors import CorruptDataError, DataError
from replica.format.file_names import INDEX_KINDS, FileKind
from replica.format.frames import Frame
from replica.history import epochs
from replica.model.epochs import Epochs
from replica.storage.batch_walk import walk
from replica.storage.filesystem import File
from replica.storage.segment import ClosedSegment, LogConfig, open_whole
from replica.storage.segment_files import SegmentFiles
from replica.storage.segment_index import (
    MAX_RELATIVE_OFFSET,
    ascending_prefix,
    last_entry,
    position_before,
    synced_entries,
)


@dataclass(frozen=True, slots=True)
class CheckedSegment:
    """A closed segment that check_closed or trust_closed accepted."""

    segment: ClosedSegment
    last: Frame | None
    """The last batch of the segment; None if nothing was read, because a snapshot covers the whole
    segment."""
    rebuilt: bool = False
    """Whether the indexes of the segment were rebuilt."""


def trust_closed(files: SegmentFiles, end_offset: int) -> CheckedSegment | None:
    """The closed segment of these files, without reading it. None if an index is missing, or if the
    log file is empty. end_offset: the base offset of the next segment."""
    if files.missing(*INDEX_KINDS):
        return None
    with files.open() as log:
        size = log.size()
    if size == 0:
        return None
    return CheckedSegment(ClosedSegment(files, end_offset, size), None)


def check_closed(files: SegmentFiles, config: LogConfig) -> CheckedSegment:
    """Read the end of a closed segment, and return the segment. If its indexes are missing or
    wrong, read the whole segment and rebuild the indexes. Raises DataError, which names file and
    byte, for a damaged segment."""
    with files.open() as log:
        if not files.missing(*INDEX_KINDS):
            offsets = ascending_prefix(files.offset_index())
            try:
                last = _last_batch(log, files.base_offset, offsets)
                segment = ClosedSegment(files, last.end_offset, last.end_position, offsets)
                return CheckedSegment(segment, last)
            except DataError:
                pass  # the index may be wrong: read the whole segment
        last = _last_batch(log, files.base_offset, b"")
    return CheckedSegment(open_whole(files, config).seal(), last, rebuilt=True)


def epochs_of(segments: Iterable[ClosedSegment]) -> Epochs:
    """The start offset of each leader epoch in these segments, read from the headers of all
    batches."""
    entries: Epochs = ()
    for segment in segments:
        with segment.files.open() as log:
            for frame, _ in walk(log, expected_offset=segment.base_offset, check_crc=False):
                if not entries or frame.epoch > entries[-1].epoch:
                    entries = epochs.assign(entries, frame.epoch, frame.base_offset)
    return entries


def synced_end(files: SegmentFiles) -> int:
    """The offset (exclusive) up to which the newest segment is certainly synced: the end of the
    last batch that has an index entry, or the base offset of the segment if there is no entry."""
    if files.missing(FileKind.OFFSET_INDEX):
        return files.base_offset
    entries = synced_entries(files.offset_index())
    return files.base_offset + (last_entry(entries)[0] + 1 if entries else 0)


def _last_batch(log: File, base_offset: int, offsets: bytes) -> Frame:
    position = position_before(offsets, MAX_RELATIVE_OFFSET)
    expected = base_offset if position == 0 else None
    last = None
    for frame, _ in walk(log, expected_offset=expected, position=position):
        last = frame
    if last is None:
        raise CorruptDataError("a segment of 0 bytes that is not the newest", 0, log.path)
    return last
