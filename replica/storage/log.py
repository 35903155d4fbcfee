"""The replicated log on disk (Kafka: KafkaMetadataLog over UnifiedLog).

`replica.storage.recovery.open_log` opens a log. The log is synced by `flush`, before a new segment
is made, and by a truncation. So the host decides how many appends share one sync. Another thread
may sync: between `begin_flush` and `end_flush` the log may be read and appended to, and any other
change first waits for the sync.

After a failed write or sync, the content of the disk is unknown. Every later change raises the
first error again, until the log is opened again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from replica.errors import CorruptDataError, KraftlakeError
from replica.format.frames import Frame, frames
from replica.format.stored_batches import BatchFile
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch, is_newer_than_log, last_epoch_of
from replica.model.stored import LogFacts
from replica.storage.archive import Archive, CutTail
from replica.storage.batch_walk import BatchBytes
from replica.storage.batches import batch_in, batches_of, bytes_of
from replica.storage.begun_flush import BegunFlush
from replica.storage.epoch_checkpoint import EpochCheckpoint
from replica.storage.filesystem import FileSystem
from replica.storage.newest_batches import NewestBatches
from replica.storage.segment import (
    ActiveSegment,
    ClosedSegment,
    LogConfig,
    create_segment,
    open_whole,
)
from replica.storage.segment_files import SegmentFiles
from replica.storage.snapshots import SnapshotFiles
from replica.storage.stored_batches import FileBatches

READ_BYTES = 1024 * 1024
_NO_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a log, with its settings. archive: keeps the batches that a truncation or a
    snapshot removes; None to keep no removed batches."""

    files: FileSystem
    folder: str
    config: LogConfig
    snapshots: SnapshotFiles
    archive: Archive | None = None

    def segment(self, base_offset: int) -> SegmentFiles:
        return SegmentFiles(self.files, self.folder, base_offset)


@dataclass(eq=False)
class FileLog:
    """The replicated log as files. The log has one writer. A batch lies in one file. An offset that
    doesn't fit the log is a bug of the host, and fails an assertion.

    log_start: the log start offset (inclusive).
    flushed_end: the offset up to which the log is durable (exclusive).
    repairs: a line of text for each repair that opening made.
    _control: the log's control batches from the offset `_control_from` on.
    """

    log_start: int
    repairs: list[str]
    _place: Place
    _checkpoint: EpochCheckpoint
    _closed: list[ClosedSegment]
    _active: ActiveSegment
    _control: list[Batch]
    _control_from: int
    _failure: KraftlakeError | None = None
    _newest: NewestBatches = field(init=False)
    _flushing: BegunFlush | None = None
    flushed_end: int = field(init=False)

    def __post_init__(self) -> None:
        self.flushed_end = self.log_end
        self._newest = NewestBatches(self._place.config.newest_bytes)

    @property
    def snapshots(self) -> SnapshotFiles:
        return self._place.snapshots

    @property
    def log_end(self) -> int:
        return self._active.end_offset

    @property
    def size_bytes(self) -> int:
        """The bytes of all segments, without indexes and snapshots (Kafka: UnifiedLog.size)."""
        return sum(segment.size for segment in self._closed) + self._active.size

    def is_older_than(self, snapshot_id: OffsetAndEpoch) -> bool:
        """Whether the log is older than this snapshot, and must restart at the snapshot's end."""
        return is_newer_than_log(snapshot_id, self.log_end, last_epoch_of(self._checkpoint.entries))

    def facts(self) -> LogFacts:
        """The facts of the log, as they are now. Raises DataError for damaged control batches."""
        return LogFacts(
            log_start=self.log_start,
            log_end=self.log_end,
            epochs=self._checkpoint.entries,
            snapshots=self.snapshots.facts(),
            control_batches=tuple(self._control_batches()),
        )

    def append(self, batches: Sequence[Batch]) -> int:
        """Append batches; the base offset of the first batch is the log end. A batch without `data`
        is encoded. Returns the new log end (exclusive).

        Raises CorruptDataError, and appends nothing, if the data of a batch isn't exactly one whole
        batch with a valid CRC.
        """
        end, epoch = self.log_end, self._checkpoint.latest_epoch
        located = []
        for batch in batches:
            assert batch.base_offset == end, "a batch starts at the log end"
            assert batch.epoch >= epoch, "an epoch never goes back"
            located.append(_located(batch))
            end, epoch = batch.end_offset, batch.epoch
        with self._changing():
            for batch, (data, frame) in zip(batches, located, strict=True):
                if self._active.should_roll(frame.size, frame.last_offset, frame.max_timestamp):
                    self._roll()
                self._active.append(data, frame)
                if batch.epoch > self._checkpoint.latest_epoch:
                    self._checkpoint.assign(batch.epoch, batch.base_offset)
                written = _as_written(data, frame)
                self._newest.add(written)
                if frame.is_control:
                    self._control.append(written)
        return self.log_end

    def flush(self) -> int:
        """Durable: sync everything that was appended so far. Returns `flushed_end`."""
        self._settle()
        return self.end_flush(self.begin_flush())

    def begin_flush(self) -> BegunFlush:
        """Begin to flush. The caller calls the result's `run` in any thread, then `end_flush`."""
        assert self._flushing is None, "one flush at a time"
        segment = self._active.begin_flush()
        self._flushing = BegunFlush(self.log_end, self._checkpoint.entries, segment)
        return self._flushing

    def end_flush(self, begun: BegunFlush) -> int:
        """Durable: end a flush, and run the flush first if no thread has. Returns `flushed_end`."""
        if self._flushing is begun:
            self._settle()
        return self.flushed_end

    def truncate_to(self, end_offset: int) -> int:
        """Durable: remove all records from `end_offset` on. A batch with records on both sides of
        `end_offset` is removed as a whole. Returns the new log end (exclusive)."""
        assert end_offset >= self.log_start, "what lies below the log start is committed"
        if end_offset >= self.log_end:
            return self.log_end
        self._settle()
        self._newest.truncate_to(end_offset)
        with self._changing():
            if self._place.archive is not None:
                self._place.archive.keep_tail(self._tail(end_offset))
            self._remove_from(end_offset)
            self._active.truncate_to(end_offset)
            # before the checkpoint is written: only its old content may name the log start
            self._drop_leftovers()
            self._checkpoint.truncate_from_end(self.log_end)
            self._checkpoint.save()
        self._control = [batch for batch in self._control if batch.end_offset <= self.log_end]
        self._control_from = min(self._control_from, self.log_end)
        self.flushed_end = self.log_end
        return self.log_end

    def reset_to(self, snapshot_id: OffsetAndEpoch) -> None:
        """Durable: remove all batches and the older snapshots. The log then starts and ends at the
        snapshot's end offset, and its last epoch is the snapshot's."""
        assert self.is_older_than(snapshot_id), "only a newer snapshot takes a log's place"
        assert snapshot_id in self.snapshots, "the snapshot is complete before the log goes"
        self._settle()
        self._newest = NewestBatches(self._place.config.newest_bytes)
        with self._changing():
            if self._place.archive is not None and (self.size_bytes or self.log_start):
                self._active.sync_all()
                self._place.archive.keep_log(self._place.folder, snapshot_id)
            self._active.close()
            self._active.files.remove()
            for segment in reversed(self._closed):
                segment.files.remove()
            self._checkpoint.entries = ()
            self._checkpoint.save()
            self._closed.clear()
            self._active = self._created(snapshot_id.offset)
            self.log_start = self.flushed_end = snapshot_id.offset
            self._control.clear()
            self._control_from = snapshot_id.offset
            self.snapshots.delete_before(snapshot_id)

    def read(self, start_offset: int, max_bytes: int, end_offset: int | None = None) -> memoryview:
        """The bytes of whole batches, from the batch that holds `start_offset` on; empty if
        `start_offset` is the log end. The newest batches come from memory, older batches from the
        file of one segment.

        All batches together have at most `max_bytes`, unless the first batch alone is larger. All
        batches start below `end_offset` (None: the log end). Raises CorruptDataError, which names
        file and byte, for a wrong CRC.
        """
        assert self.log_start <= start_offset <= self.log_end, "an offset the log doesn't hold"
        if start_offset == self.log_end:
            return memoryview(b"")
        limit = _NO_LIMIT if end_offset is None else end_offset
        newest = self._newest.read(start_offset, max_bytes, limit)
        if newest is not None:
            return newest
        return self._segment_of(start_offset).read(start_offset, max_bytes, limit).data

    def batches(self, start_offset: int, end_offset: int) -> Iterator[Batch]:
        """The batches from `start_offset` (inclusive) to `end_offset` (exclusive), each with its
        `data`, for a state machine. Raises DataError for damaged bytes."""
        assert self.log_start <= start_offset, "an offset the log doesn't hold"
        newest = self._newest.between(start_offset, min(end_offset, self.log_end))
        if newest is not None:
            yield from newest
            return
        for _, (data, _) in self._pieces(start_offset, min(end_offset, self.log_end)):
            for frame in frames(data, start=0, expected_offset=None, check_crc=False):
                yield batch_in(data, frame)

    def stored(self, start_offset: int, end_offset: int) -> FileBatches:
        """The batches from `start_offset` (inclusive) to `end_offset` (exclusive, at most the log
        end), for a reader in another thread, without use of this log. The caller closes the result;
        until then, batches below `end_offset` must not be truncated."""
        assert self.log_start <= start_offset <= end_offset <= self.log_end
        files = []
        while start_offset < end_offset:
            segment = self._segment_of(start_offset)
            files.append(self._part(segment, start_offset, end_offset))
            start_offset = segment.end_offset
        return FileBatches(tuple(files))

    def advance_log_start(self, offset: int) -> None:
        """Durable: let the log start at `offset`, which is the end offset of a snapshot. Segments
        below `offset` are removed."""
        assert self.log_start <= offset <= self.log_end, "a log starts inside of itself"
        assert any(id.offset == offset for id in self.snapshots), (
            "a log starts where a snapshot ends"
        )
        if offset == self.log_start:
            return
        self._settle()
        with self._changing():
            self._checkpoint.truncate_from_start(offset)
            self._checkpoint.save()
            self.log_start = offset
            self._drop_leftovers()

    def close(self) -> None:
        """Make the log and its indexes durable, and close the files."""
        self._settle()
        with self._changing():
            self._active.sync_all()
            self._checkpoint.save()
            self._active.close()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        if self._failure is not None:
            raise self._failure
        try:
            yield
        except KraftlakeError as error:
            self._failure = error
            raise

    def _settle(self) -> None:
        """If a flush has begun, wait for the flush and end it."""
        begun, self._flushing = self._flushing, None
        if begun is None:
            return
        with self._changing():
            begun.run()
            self._active.end_flush(begun.segment)
            self._checkpoint.save(begun.epochs)
            self.flushed_end = begun.end_offset

    def _roll(self) -> None:
        self._settle()
        self._closed.append(self._active.seal())
        self._checkpoint.save()
        self.flushed_end = self.log_end
        self._active = self._created(self.log_end)

    def _created(self, base_offset: int) -> ActiveSegment:
        return create_segment(self._place.segment(base_offset), self._place.config)

    def _tail(self, end_offset: int) -> CutTail:
        """The batches that a truncation removes, from the batch that holds `end_offset` on."""
        (first,) = frames(
            self.read(end_offset, 1, self.log_end), start=0, expected_offset=None, check_crc=False
        )
        start, end = first.base_offset, self.log_end
        pieces = ((base_offset, found.data) for base_offset, found in self._pieces(start, end))
        return CutTail(start, end, self._checkpoint.latest_epoch, pieces)

    def _pieces(self, start_offset: int, end_offset: int) -> Iterator[tuple[int, BatchBytes]]:
        """All batches from the batch that holds `start_offset` to `end_offset`, in pieces of whole
        batches. Each piece comes with the base offset of its segment."""
        while start_offset < end_offset:
            segment = self._segment_of(start_offset)
            found = segment.read(start_offset, READ_BYTES, end_offset)
            yield segment.base_offset, found
            start_offset = found.runs[-1].end_offset

    def _part(
        self, segment: ClosedSegment | ActiveSegment, start_offset: int, end_offset: int
    ) -> BatchFile:
        """The part of the result of `stored` that one segment holds."""
        size, end = segment.size, segment.end_offset
        if end_offset < end:
            last = segment.holding(end_offset - 1)
            size, end = last.end_position, last.end_offset
        first, path = segment.holding(start_offset), segment.files.path()
        source = self._place.files.reader(path, size)
        return BatchFile(path, source, first.position, first.base_offset, end)

    def _remove_from(self, end_offset: int) -> None:
        """Remove the segments that begin at or above `end_offset`, the newest first. The oldest
        segment stays."""
        if not self._closed or self._active.base_offset < end_offset:
            return
        self._active.close()
        self._active.files.remove()
        while len(self._closed) > 1 and self._closed[-1].base_offset >= end_offset:
            self._closed.pop().files.remove()
        self._active = open_whole(self._closed.pop().files, self._place.config)

    def _drop_leftovers(self) -> None:
        """Remove segments that lie wholly below the log start.

        An empty log gets a segment that begins at the log start, because the checkpoint has no
        entry for a log without batches.
        """
        if self.log_end == self.log_start > self._active.base_offset:
            self._roll()
        while self._closed and self._closed[0].end_offset <= self.log_start:
            self._closed[0].files.remove()
            del self._closed[0]

    def _segment_of(self, offset: int) -> ClosedSegment | ActiveSegment:
        if offset >= self._active.base_offset:
            return self._active
        place = bisect_right(self._closed, offset, key=lambda segment: segment.base_offset)
        return self._closed[place - 1]

    def _control_batches(self) -> list[Batch]:
        """The control batches above the newest snapshot, or from the log start on if there is no
        snapshot. Batches that opening has not read are read once, at the first call."""
        ends = [id.offset for id in self.snapshots if not self.is_older_than(id)]
        start = max([self.log_start, *ends])
        if self._control_from > start:
            self._control[:0] = self._older_control(start, self._control_from)
            self._control_from = start
        return [batch for batch in self._control if batch.base_offset >= start]

    def _older_control(self, start_offset: int, end_offset: int) -> Iterator[Batch]:
        for _, (data, runs) in self._pieces(start_offset, end_offset):
            for run in runs:
                if run.is_control:
                    yield from batches_of(data[run.position : run.end_position], check_crc=False)


def _as_written(data: bytes, frame: Frame) -> Batch:
    """The batch that reading its bytes again would give."""
    if frame.is_control:
        return batch_in(data, frame)
    return Batch(frame.base_offset, frame.last_offset, frame.epoch, frame.max_timestamp, (), data)


def _located(batch: Batch) -> tuple[bytes, Frame]:
    """The bytes to write, and their frame at 0. Raises CorruptDataError unless they are one batch.

    The CRC of a fetched batch was checked when the batch arrived, because a wrong CRC is then the
    leader's fault. This function checks the CRC again, because the memory may have changed. The CRC
    of a batch that a client proposed is checked here first.
    """
    data = bytes_of(batch)
    found = tuple(frames(data, start=0, expected_offset=batch.base_offset))
    if len(found) != 1 or found[0].size != len(data):
        raise CorruptDataError(f"not one whole batch: {len(data)} bytes hold {len(found)}")
    assert found[0].last_offset == batch.last_offset, "a batch and its bytes agree"
    return data, found[0]
