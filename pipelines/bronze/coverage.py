"""For which offsets a look at a directory proves that a missing batch is really gone.

Damage may hide offsets. These are not covered: a batch that is missing there may still exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replica.format.damage import DamageKind
from replica.format.directory import MetadataDirectory, SegmentFile
from replica.format.file_names import FileKind, classify
from replica.scan.compact import column_of, next_offsets

_HIDING_FILES = (DamageKind.UNREADABLE, DamageKind.CHANGED)


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Offsets from `start` (inclusive) to `end` (exclusive, None without end)."""

    start: int
    end: int | None


def uncovered(directory: MetadataDirectory) -> tuple[Uncovered, ...]:
    """The ranges of offsets that damage in the log's segments may hide."""
    ranges = [*_gaps(directory.segments), *_hidden_segments(directory)]
    tail = _open_tail(directory)
    return (*ranges, tail) if tail is not None else tuple(ranges)


def _gaps(segments: tuple[SegmentFile, ...]) -> list[Uncovered]:
    """Offsets between batches that follow each other, and between a name and its first batch."""
    gaps = []
    expected: int | None = None
    for segment in segments:
        expected = segment.base_offset if expected is None else expected
        batches = segment.scan.batches
        if not batches:
            continue
        starts, ends = column_of(batches, "base_offset"), next_offsets(batches)
        before = np.concatenate([[expected], ends[:-1]])
        for number in np.flatnonzero(starts > before).tolist():
            if not segment.scan.follows_unlisted(batches[number]):
                gaps.append(Uncovered(int(before[number]), int(starts[number])))
        expected = int(ends[-1])
    return gaps


def _hidden_segments(directory: MetadataDirectory) -> list[Uncovered]:
    """The offsets of segments that could not be opened, up to the next one that could."""
    starts = sorted(segment.base_offset for segment in directory.segments)
    hidden = []
    for damage in directory.damages:
        name = classify(damage.file.rsplit("/", 1)[-1])
        is_segment = name.kind is FileKind.SEGMENT and not name.deleted
        if damage.kind in _HIDING_FILES and is_segment and name.base_offset is not None:
            after = next((start for start in starts if start > (name.base_offset or 0)), None)
            hidden.append(Uncovered(name.base_offset, after))
    return hidden


def _open_tail(directory: MetadataDirectory) -> Uncovered | None:
    """The offsets from the log end on, where the last segment ends in bytes that are no batch."""
    if not directory.segments:
        return None
    last = directory.segments[-1].scan
    ends_damaged = any(
        damage.length and damage.position + damage.length == last.end_position
        for damage in last.damages
        if damage.kind is not DamageKind.CRC_MISMATCH
    )
    return Uncovered(directory.log_end_offset, None) if ends_damaged else None
