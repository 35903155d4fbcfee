"""Replays large logs and snapshots by the bulk reader, which takes runs of batches at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

import numpy as np

from replica.doctor.check.examined import Examined
from replica.doctor.check.replay_fold import (
    FoldedImages,
    LogFold,
    Refused,
    SnapshotImage,
    Watch,
    is_refused,
)
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.directory import SegmentFile, SnapshotFile
from replica.metadata.image.image import Image
from replica.metadata.image.replay import RecordReader, Refusal, meaning, reader
from replica.model.epochs import OffsetAndEpoch
from replica.scan import frames
from replica.scan.bulk_replay import BulkReplay
from replica.scan.file_room import Growth
from replica.scan.native import Longs
from replica.scan.regions import Chunk, Region, Regions
from replica.scan.tables import program_table


def replay_large_log(
    examined: Examined,
    wanted: Collection[OffsetAndEpoch],
    snapshot_image: SnapshotImage,
    watch: Watch | None = None,
    *,
    newest: bool = False,
) -> FoldedImages:
    """Replay a large log, with the result of replaying.replay_log. snapshot_image: a function that
    reads the state of a snapshot, as for LogFold."""
    replaying = LogFold(
        examined, wanted, partial(BulkReplay, read=reader(examined.passed_over)), snapshot_image
    )
    ends: Longs = np.array([end.offset for end in wanted], np.int64)
    growth = examined.growth()
    for segment in examined.directory.segments:
        content = examined.content_of(segment)
        for region in _regions(content, segment, segment.file.name.base_offset):
            growth.check_limit()
            if watch is not None:
                watch(f"{examined.shown}: replaying offset {replaying.end.offset}")
            if isinstance(region, Chunk):
                _take_chunk(replaying, segment, content, region, ends)
            else:
                replaying.take(segment, region)
    return replaying.replayed(newest=newest)


def large_snapshot_image(
    content: FileContent,
    snapshot: SnapshotFile,
    read: RecordReader = meaning,
    growth: Growth | None = None,
) -> Image | None:
    """The state in a large snapshot without damage; None if a record can't be read or applied, as
    in replaying.snapshot_image. read: decodes a record for the replay."""
    replay = BulkReplay(read=read)
    inflation = Inflation(content.size)
    for region in _regions(content, snapshot, 0):
        if growth is not None:
            growth.check_limit()
        if isinstance(region, Chunk):
            taken = replay.take(region, content.source(), 0, region.row_count, explain=False)
            if taken.refused or taken.row < region.row_count:
                return None
        elif is_refused(replay, region, content, inflation, read):
            return None
    return replay.image()


def _regions(
    content: FileContent, file: SegmentFile | SnapshotFile, expected_offset: int | None
) -> Iterator[Region]:
    """The file in order: chunks that the kernels read, and between them the batches that the
    kernels refuse although their CRC is valid."""
    regions = Regions(content.source(), 0, expected_offset)
    for region in regions.read(program_table(keep_secrets=True)):
        if isinstance(region, Chunk) or region.crc_valid:
            yield region
    if regions.damages != file.scan.damages:
        content.has_changed = True


def _take_chunk(
    replaying: LogFold[BulkReplay],
    segment: SegmentFile,
    content: FileContent,
    chunk: Chunk,
    wanted: Longs,
) -> None:
    """Replay the batches of a chunk. wanted: the end offsets (exclusive) of the wanted states."""
    batches = chunk.batches[:, : chunk.batch_count]
    in_batch = chunk.rows[frames.ROW_BATCH, : chunk.row_count]
    first_rows = np.searchsorted(in_batch, np.arange(chunk.batch_count + 1))
    ends = batches[frames.BATCH_LAST_OFFSET] + 1
    stops = np.append(np.flatnonzero(np.isin(ends, wanted)), chunk.batch_count - 1)
    batch = 0
    while batch < chunk.batch_count:
        replay = replaying.enter(int(batches[frames.BATCH_BASE_OFFSET, batch]))
        last = batch
        if replay is not None:
            last = int(stops[np.searchsorted(stops, batch)])
            low, high = int(first_rows[batch]), int(first_rows[last + 1])
            explain = replaying.first_refused is None
            taken = replay.take(chunk, content.source(), low, high, explain=explain)
            replaying.refuse(taken.refused, taken.first and _placed(segment, chunk, *taken.first))
            if taken.row < high:
                last = int(in_batch[taken.row])
                if last > batch:  # the state is known up to the batch that can't be read
                    replaying.leave(_end_of(batches, last - 1))
                replaying.break_off()
        replaying.leave(_end_of(batches, last))
        batch = last + 1


def _end_of(batches: Longs, number: int) -> OffsetAndEpoch:
    end = int(batches[frames.BATCH_LAST_OFFSET, number]) + 1
    return OffsetAndEpoch(end, int(batches[frames.BATCH_EPOCH, number]))


def _placed(segment: SegmentFile, chunk: Chunk, row: int, refusal: Refusal) -> Refused:
    batch = chunk.rows[frames.ROW_BATCH, row]
    position = chunk.start + int(chunk.batches[frames.BATCH_POSITION, batch])
    return Refused(
        segment.file.path, position, int(chunk.batches[frames.BATCH_EPOCH, batch]), refusal
    )
