"""The files of a round, and their new bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pipelines.bronze.captured import Captured
from pipelines.capture.capture import Capture
from pipelines.capture.captures import CaptureGroup
from pipelines.sources.files import SourceFile
from replica.format.directory import DirectoryFile, SegmentFile, SnapshotFile


def new_segments(captured: Sequence[Captured]) -> Iterator[tuple[Captured, SegmentFile]]:
    """The .log and .log.deleted files with a batch that the lake doesn't know, each with its
    capture."""
    for one in captured:
        directory = one.capture.directory
        for segment in (*directory.segments, *directory.deleted_segments):
            if segment.scan.new_batches:
                yield one, segment


def source_of(capture: Capture, file: DirectoryFile) -> SourceFile:
    """The source of the bytes of a file that the capture has read: the copy in the spool, or the
    file in its place."""
    return SourceFile(
        capture.copy_of(file),
        capture.shown_file(file),
        end=file.size_bytes,
        stamp=capture.stamp_of(file),
    )


def source_file(one: Captured, segment: SegmentFile) -> SourceFile:
    """A segment as a file to read, from the first byte that the lake doesn't know."""
    whole, start = source_of(one.capture, segment.file), segment.scan.sparse_until
    if not start:
        return whole
    return replace(whole, start=start, next_offset=segment.scan.next_offset_of_known)


def new_bytes(groups: Iterable[CaptureGroup]) -> int:
    """The number of captured bytes of segments that the lake did not have when they were captured.
    Bytes that an earlier round of the same ingest brings in are counted too."""
    scans = (
        segment.scan
        for group in groups
        for capture in group.captures
        for segment in (*capture.directory.segments, *capture.directory.deleted_segments)
    )
    return sum(max(0, scan.end_position - scan.sparse_until) for scan in scans)


def snapshots(captured: Sequence[Captured]) -> Iterator[tuple[Captured, SnapshotFile]]:
    """Every snapshot in any state, with its capture; without bootstrap.checkpoint, which belongs to
    no log."""
    for one in captured:
        for snapshot in one.capture.directory.snapshots:
            yield one, snapshot
