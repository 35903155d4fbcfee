"""One segment: a .log file with its .index and .timeindex (Kafka: LogSegment).

A closed segment is complete and synced, and is never written again. The active segment is the
newest segment: its log file is written first, its indexes at the sync.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from replica.errors import DataError
from replica.format.file_names import INDEX_KINDS, FileKind
from replica.format.frames import Frame
from replica.format.runs import Run, run_of
from replica.message.primitives import Buffer
from replica.storage import batch_walk
from replica.storage.begun_flush import SegmentFlush
from replica.storage.filesystem import File
from replica.storage.segment_files import KINDS, SegmentFiles
from replica.storage.segment_index import (
    MAX_RELATIVE_OFFSET,
    SegmentIndex,
    ascending_prefix,
    entries_below,
    last_entry,
    position_before,
    resumed,
    shared_prefix,
    synced_entries,
)

_RENEWED_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The settings of a log, with Kafka's defaults.

    segment_bytes: metadata.log.segment.bytes.
    segment_ms: metadata.log.segment.ms, the most time between a segment's first batch and a batch
        that is added to it.
    index_interval_bytes, max_index_bytes: index.interval.bytes and segment.index.bytes.
    newest_bytes: the most bytes of memory for the newest batches, which are then not read from the
        disk again. Kafka has no such setting.
    """

    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * 24 * 60 * 60 * 1000
    index_interval_bytes: int = 4096
    max_index_bytes: int = 10 * 1024 * 1024
    newest_bytes: int = 8 * 1024 * 1024

    def __post_init__(self) -> None:
        assert 0 < self.segment_bytes < 2**31, "positions in an index are int32"


@dataclass(slots=True)
class ClosedSegment:
    """A segment that gets no more batches, with its end offset (exclusive) and the size of its log
    file in bytes. The offset index is read when it is needed, and then stays in memory: 2 MiB for
    each GiB of log."""

    files: SegmentFiles
    end_offset: int
    size: int
    _offsets: bytes | None = None

    @property
    def base_offset(self) -> int:
        return self.files.base_offset

    def read(self, start_offset: int, max_bytes: int, end_offset: int) -> batch_walk.BatchBytes:
        """Whole batches from `start_offset` on, within the limits of batch_walk.read_batches."""
        with self.files.open() as log:
            return batch_walk.read_batches(
                log,
                size=self.size,
                search_from=position_before(self._index(), start_offset - self.base_offset),
                start_offset=start_offset,
                max_bytes=max_bytes,
                end_offset=end_offset,
            )

    def holding(self, offset: int) -> Frame:
        """The batch that holds an offset of the segment. The CRC of the batch isn't checked."""
        with self.files.open() as log:
            position = position_before(self._index(), offset - self.base_offset)
            return batch_walk.frame_holding(log, self.size, position, offset)

    def _index(self) -> bytes:
        if self._offsets is None:
            self._offsets = ascending_prefix(self.files.offset_index())
        return self._offsets


@dataclass(slots=True)
class ActiveSegment:
    """The newest segment with its three open files.

    size: the number of bytes that are written to the log file.
    synced_size: the number of these bytes that are certainly on the disk.
    first_timestamp: the largest timestamp (ms) of the first batch; -1 for an empty segment.
    _written: the number of bytes of each index that are written to its file.
    """

    config: LogConfig
    index: SegmentIndex
    opened: dict[FileKind, File]
    files: SegmentFiles
    end_offset: int
    size: int = 0
    first_timestamp: int = -1
    synced_size: int = 0
    _written: dict[FileKind, int] = field(default_factory=lambda: dict.fromkeys(INDEX_KINDS, 0))

    @property
    def base_offset(self) -> int:
        return self.index.base_offset

    @property
    def _log(self) -> File:
        return self.opened[FileKind.SEGMENT]

    def should_roll(self, size: int, last_offset: int, max_timestamp: int) -> bool:
        """Whether a batch of `size` bytes belongs in a new segment (LogSegment.shouldRoll).

        The age of the segment is the difference between the timestamps of this batch and of the
        segment's first batch. If one of these timestamps is missing, the age doesn't matter.
        """
        if self.size == 0:
            return False
        is_old = (
            self.first_timestamp >= 0
            and max_timestamp - self.first_timestamp > self.config.segment_ms
        )
        return (
            is_old
            or self.size + size > self.config.segment_bytes
            or self.index.is_full(self.config.max_index_bytes)
            or last_offset - self.base_offset > MAX_RELATIVE_OFFSET
        )

    def append(self, data: bytes, frame: Frame) -> None:
        """Write a batch at the end of the log file, whatever position `frame` names. The batch
        isn't synced."""
        self._log.write(self.size, data)
        self.add(run_of(frame._replace(position=self.size), self.index.room))

    def add(self, run: Run) -> None:
        """Add a run of batches that is already in the file, behind the batches of the segment."""
        if run.position == 0:
            self.first_timestamp = run.first_timestamp
        self.index.add(run)
        self.size, self.end_offset = run.end_position, run.end_offset

    def begin_flush(self) -> SegmentFlush:
        """Begin a sync of all batches that were appended so far, and return this flush."""
        sync = self._log.begin_sync() if self.synced_size < self.size else None
        return SegmentFlush(self.size, {kind: len(index) for kind, index in self._indexes()}, sync)

    def end_flush(self, begun: SegmentFlush) -> None:
        """End a flush that is synced. The flush's index entries are written now, without a sync."""
        self.synced_size = begun.size
        self._write_indexes(begun.entries)

    def read(self, start_offset: int, max_bytes: int, end_offset: int) -> batch_walk.BatchBytes:
        """Whole batches from `start_offset` on, within the limits of batch_walk.read_batches."""
        return batch_walk.read_batches(
            self._log,
            size=self.size,
            search_from=position_before(self.index.offsets, start_offset - self.base_offset),
            start_offset=start_offset,
            max_bytes=max_bytes,
            end_offset=end_offset,
        )

    def holding(self, offset: int) -> Frame:
        """The batch that holds an offset of the segment. The CRC of the batch isn't checked."""
        position = position_before(self.index.offsets, offset - self.base_offset)
        return batch_walk.frame_holding(self._log, self.size, position, offset)

    def truncate_to(self, end_offset: int) -> None:
        """Durable: remove every batch that holds `end_offset` or a higher offset. The index gives
        the position to begin, so that a large segment isn't read as a whole."""
        end = self.size
        self._go_back(end_offset)
        walked = batch_walk.walk(
            self._log,
            expected_offset=self.end_offset,
            position=self.size,
            end=end,
            check_crc=False,
            piece_bytes=batch_walk.SEARCH_BYTES,
        )
        for frame, _ in takewhile(lambda found: found[0].end_offset <= end_offset, walked):
            self.add(run_of(frame, self.index.room))
        self.cut()

    def _go_back(self, end_offset: int) -> None:
        """Let the segment end with the last batch below `end_offset` that has an index entry. If no
        such batch has an entry, the segment becomes empty."""
        interval, found = self.config.index_interval_bytes, None
        offsets = entries_below(bytes(self.index.offsets), end_offset - self.base_offset)
        if offsets:
            last = batch_walk.frame_at(self._log, last_entry(offsets)[1], check_crc=False)
            found = resumed(self.base_offset, interval, offsets, bytes(self.index.times), last)
        if found is None:
            self.index = SegmentIndex(self.base_offset, interval)
            self.size, self.end_offset, self.first_timestamp = 0, self.base_offset, -1
        else:
            self.index, self.size, self.end_offset = found, last.end_position, last.end_offset

    def cut(self) -> None:
        """Durable: cut the indexes to the batches below byte `size`, then the log at `size`: no
        entry may ever point to removed bytes."""
        for kind, content in self._indexes():
            file = self.opened[kind]
            size = file.size()
            shared = shared_prefix(file.read(0, size), content)
            if shared < size:
                file.truncate(shared)
                file.sync()
            self._written[kind] = shared
        if self._log.size() > self.size:
            self._log.truncate(self.size)
        self._log.sync()
        self.synced_size = self.size
        self._write_indexes()

    def renew(self) -> None:
        """Write the bytes again that may be only in the machine's memory, so that `cut` syncs them.

        After a failed sync the operating system treats bytes as written that aren't on the disk,
        and a process that opens the file later can't see this. Index entries are written after a
        sync, so the bytes up to the last entry are safe.
        """
        index = self.opened[FileKind.OFFSET_INDEX]
        entries = synced_entries(index.read(0, index.size()))
        position = last_entry(entries)[1] if entries else 0
        while position < self.size:
            data = self._log.read(position, min(_RENEWED_BYTES, self.size - position))
            if not data:
                return
            self._log.write(position, data)
            position += len(data)

    def seal(self) -> ClosedSegment:
        """Durable: add the last entries of the indexes, and sync the log file and the indexes. The
        segment then gets no more batches."""
        self.index.close()
        self.sync_all()
        self.close()
        return ClosedSegment(self.files, self.end_offset, self.size, bytes(self.index.offsets))

    def sync_all(self) -> None:
        """Sync the log file and the indexes."""
        self._log.sync()
        self.synced_size = self.size
        self._write_indexes()
        self.opened[FileKind.OFFSET_INDEX].sync()
        self.opened[FileKind.TIME_INDEX].sync()

    def close(self) -> None:
        """Close the files without a sync."""
        for file in self.opened.values():
            file.close()

    def _indexes(self) -> tuple[tuple[FileKind, bytearray], tuple[FileKind, bytearray]]:
        return (FileKind.OFFSET_INDEX, self.index.offsets), (FileKind.TIME_INDEX, self.index.times)

    def _write_indexes(self, ends: Mapping[FileKind, int] | None = None) -> None:
        """Write new entries of the indexes. ends: the end (byte) of each index up to which entries
        may be written; None for all entries."""
        for kind, content in self._indexes():
            written, end = self._written[kind], len(content) if ends is None else ends[kind]
            if written < end:
                self.opened[kind].write(written, bytes(content[written:end]))
                self._written[kind] = end


@dataclass(frozen=True, slots=True)
class ScannedSegment:
    """The newest segment after reading it, before any repair.

    segment: the valid beginning of the segment.
    damage: the fault that ends the valid part; None if the whole file is valid.
    trusted: the last batch that was not read; None if all batches were read.
    """

    segment: ActiveSegment
    damage: DataError | None
    trusted: Frame | None = None

    @property
    def read_from(self) -> int:
        """The first offset that was read."""
        return self.segment.base_offset if self.trusted is None else self.trusted.end_offset


Visitor = Callable[[Run, Buffer], None]
"""A function that is called with each run of batches and its bytes."""


def scan_segment(
    files: SegmentFiles,
    config: LogConfig,
    *,
    epoch: int = -1,
    visit: Visitor | None = None,
    covered: int = 0,
) -> ScannedSegment:
    """Read a segment, check every batch, and compute its indexes. Nothing on the disk changes,
    except that missing index files are made; `ActiveSegment.cut` removes the damaged end.

    epoch: the epoch of the last batch before the segment.
    covered: the end offset of the newest snapshot. Batches below this offset are not read if the
        index shows that they were synced.
    visit: a function that is called with each run.
    """
    segment = _opened(files, config)
    log = segment.opened[FileKind.SEGMENT]
    trusted = _skip(segment, covered)
    epoch = epoch if trusted is None else trusted.epoch
    start, end = segment.size, segment.end_offset
    try:
        for run, data in batch_walk.walk_runs(
            log,
            lambda: segment.index.room,
            config.index_interval_bytes,
            expected_offset=end,
            position=start,
            epoch=epoch,
        ):
            segment.add(run)
            if visit is not None:
                visit(run, data)
    except DataError as error:
        return ScannedSegment(segment, error, trusted)
    return ScannedSegment(segment, None, trusted)


def open_whole(files: SegmentFiles, config: LogConfig) -> ActiveSegment:
    """Open and return a segment for writing, with rebuilt indexes. Raises DataError if a batch is
    damaged."""
    scanned = scan_segment(files, config)
    if scanned.damage is not None:
        scanned.segment.close()
        raise scanned.damage
    scanned.segment.cut()
    return scanned.segment


def _skip(segment: ActiveSegment, covered: int) -> Frame | None:
    """Skip the batches up to the last index entry below `covered`, and return the last skipped
    batch.

    None if no batch is skipped, because log and indexes don't fit together, or because the index
    doesn't show what was synced.
    """
    log = segment.opened[FileKind.SEGMENT]
    index = segment.opened[FileKind.OFFSET_INDEX]
    base = segment.base_offset
    if covered <= base:
        return None
    offsets = entries_below(synced_entries(index.read(0, index.size())), covered - base)
    if not offsets:
        return None
    relative, position = last_entry(offsets)
    try:
        first, last = batch_walk.frame_at(log, 0, base), batch_walk.frame_at(log, position)
    except DataError:
        return None
    file = segment.opened[FileKind.TIME_INDEX]
    times = file.read(0, file.size())
    found = resumed(base, segment.config.index_interval_bytes, offsets, times, last)
    if found is None or last.last_offset != base + relative:
        return None
    segment.index, segment.first_timestamp = found, first.max_timestamp
    segment.size, segment.end_offset = last.end_position, last.end_offset
    return last


def create_segment(files: SegmentFiles, config: LogConfig) -> ActiveSegment:
    """Durable: make an empty segment."""
    files.make(KINDS[::-1])
    return _opened(files, config)


def _opened(files: SegmentFiles, config: LogConfig) -> ActiveSegment:
    if missing := files.missing(*KINDS):
        files.make(missing)
    return ActiveSegment(
        config,
        SegmentIndex(files.base_offset, config.index_interval_bytes),
        {kind: files.open(kind) for kind in KINDS},
        files,
        end_offset=files.base_offset,
    )
