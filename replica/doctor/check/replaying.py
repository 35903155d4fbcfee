"""Replays a log as far as the directory holds it, and reads the state in a snapshot.

In plain Python a replay takes about 17 us for each record. For large files the bulk reader takes
less than 0.1 us for each record (replica.doctor.check.bulk_replaying).
"""

from __future__ import annotations

from collections.abc import Collection

from replica.doctor.check.examined import Examined
from replica.doctor.check.replay_fold import FoldedImages, LogFold, Watch, is_refused
from replica.format.compression import Inflation
from replica.format.content import MovedError
from replica.format.directory import SnapshotFile
from replica.metadata.image.image import Image
from replica.metadata.image.replay import RecordReader, Replay, reader
from replica.model.epochs import OffsetAndEpoch
from replica.scan.file_room import TooMuchMemoryError
from replica.scan.segments import is_large

_EVERY_BATCHES = 512


def replay_log(
    examined: Examined,
    wanted: Collection[OffsetAndEpoch],
    watch: Watch | None = None,
    *,
    newest: bool = False,
) -> FoldedImages:
    """Replay the log of a directory. wanted: the ends (exclusive) of the wanted states, each with
    the epoch of the record before it. newest: whether the state at the log's end is also wanted."""
    if is_large(sum(examined.content_of(one).size for one in examined.directory.segments)):
        from replica.doctor.check.bulk_replaying import replay_large_log

        try:
            return replay_large_log(examined, wanted, snapshot_image, watch, newest=newest)
        except TooMuchMemoryError as error:
            return FoldedImages(left_out=str(error))
        except MovedError:
            return FoldedImages(left_out="its files were changed while they were read")
    replaying = LogFold(examined, wanted, Replay, snapshot_image)
    for number, (segment, batch) in enumerate(examined.batches):
        if watch is not None and number % _EVERY_BATCHES == 0:
            watch(f"{examined.shown}: replaying offset {batch.header.base_offset}")
        replaying.take(segment, batch)
    return replaying.replayed(newest=newest)


def snapshot_image(
    examined: Examined, snapshot: SnapshotFile, read: RecordReader | None = None
) -> Image | None:
    """The state in a snapshot. None if a part of it is damaged or unknown, or if it would take too
    much memory. read: decodes records instead of the directory's reader; the bulk reader is then
    not used."""
    if snapshot.scan.damages:
        return None
    content = examined.content_of(snapshot)
    if is_large(content.size) and read is None:
        from replica.doctor.check.bulk_replaying import large_snapshot_image

        try:
            growth = examined.room.growing(len(snapshot.scan.batches))
            return large_snapshot_image(content, snapshot, reader(examined.passed_over), growth)
        except (TooMuchMemoryError, MovedError):
            return None
    replay, inflation = Replay(), Inflation(content.size)
    for batch in snapshot.scan.batches:
        if is_refused(replay, batch, content, inflation, read or reader(examined.passed_over)):
            return None
    return replay.image()
