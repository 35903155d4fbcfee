"""Opens a log directory, and repairs what a crash left there (Kafka: LogLoader,
KafkaMetadataLog.apply and recoverSnapshots).

A crash of this engine can leave three faults: a torn end of the newest segment, files that were
about to be renamed or removed, and a checkpoint file that lacks the last change. Opening repairs
each of these faults and reports each repair. After any other fault, records may be lost that are
committed: opening raises DataError and leaves the log unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from replica.errors import CorruptDataError, DataError
from replica.format import partition_metadata
from replica.format.file_names import INDEX_KINDS, FileKind, classify, segment_file_name
from replica.format.frames import Frame, frames
from replica.format.runs import Run
from replica.format.segment import scan
from replica.format.snapshot import SnapshotState, parse_name
from replica.history import epochs
from replica.message.primitives import Buffer
from replica.model.batch import Batch
from replica.model.epochs import Epochs, is_newer_than_log, last_epoch_of
from replica.model.keys import METADATA_TOPIC_ID
from replica.storage.archive import Archive
from replica.storage.batches import batch_in
from replica.storage.closed_segments import (
    CheckedSegment,
    check_closed,
    epochs_of,
    synced_end,
    trust_closed,
)
from replica.storage.epoch_checkpoint import EpochCheckpoint, read_checkpoint
from replica.storage.filesystem import TEMPORARY_SUFFIX, FileSystem, replace_durably
from replica.storage.log import FileLog, Place
from replica.storage.segment import (
    ActiveSegment,
    LogConfig,
    ScannedSegment,
    create_segment,
    scan_segment,
)
from replica.storage.snapshots import SnapshotFiles

ADVICE = (
    "committed records may be lost here, so this log is not opened: move the directory away and "
    "format a new one, and the replica comes back empty under a new directory id"
)
_DEFAULTS = LogConfig()
_SEARCHED_BYTES = 64 * 1024 * 1024
"""The most bytes behind damaged bytes that are searched for batches which no snapshot holds."""


def open_log(
    files: FileSystem,
    folder: str,
    config: LogConfig = _DEFAULTS,
    topic_id: str = METADATA_TOPIC_ID,
    archive: Archive | None = None,
) -> FileLog:
    """Open the log in `folder`, which is made if the folder is missing. Everything that the
    returned log holds is durable.

    Opening reads the newest segment from the end of the newest snapshot on (without a snapshot, the
    whole segment), and those parts of older segments that neither an index nor a snapshot covers.
    archive: keeps the batches that the log removes later; None to keep none of them. Raises
        DataError, with file, byte and advice, for a fault that no crash explains, and
        FileSystemError if a file can't be read or written.
    """
    files.make_directory(folder)
    # after a failed sync of an earlier process, names may be only in the machine's memory
    files.sync_directory(folder)
    names = files.names(folder)
    if partition_metadata.FILE_NAME not in names:
        content = partition_metadata.encode(topic_id)
        replace_durably(files, folder, partition_metadata.FILE_NAME, content)
    try:
        snapshots = SnapshotFiles(files, folder)
    except DataError as error:
        raise _refusal(error) from error
    opening = _Opening(Place(files, folder, config, snapshots, archive))
    return opening.run(_base_offsets(names), read_checkpoint(files, folder))


def _base_offsets(names: tuple[str, ...]) -> list[int]:
    found = [classify(name) for name in names]
    return [
        name.base_offset
        for name in found
        if name.kind is FileKind.SEGMENT and not name.deleted and name.base_offset is not None
    ]


@dataclass(slots=True)
class _Opening:
    """Opens one log. All files are examined before anything but the indexes of closed segments is
    repaired."""

    place: Place
    repairs: list[str] = field(default_factory=list)
    epochs: Epochs = ()
    control: list[Batch] = field(default_factory=list)
    unread: DataError | None = None
    """The error of the first control batch that can't be decoded although its CRC is valid; None if
    there is no such batch."""

    def run(self, bases: list[int], saved: Epochs | None) -> FileLog:
        if not bases:
            return self._without_segments(saved)
        log_start = self._log_start(bases, saved)
        kept = [base for base in bases if base <= log_start][-1:]
        kept += [base for base in bases if base > log_start]
        closed = self._closed(kept)
        scanned = self._scanned(kept[-1], closed, saved)
        self._judge_end(scanned)
        entries = self._entries(saved, closed, scanned, log_start)
        self._judge_snapshots(log_start, entries, scanned.segment.end_offset)

        for base in bases:
            # before the checkpoint is written: only its old content may name the log start
            if base < kept[0]:
                self.place.segment(base).remove()
        scanned.segment.renew()
        scanned.segment.cut()
        # the entries that were read don't count as durable: they may be only in the machine's
        # memory
        checkpoint = EpochCheckpoint(self.place.files, self.place.folder, entries, None)
        log = self._log(checkpoint, closed, scanned.segment, log_start, scanned.read_from)
        self._restart_at_newer_snapshot(log)
        self._clean(log)
        return log

    def _without_segments(self, saved: Epochs | None) -> FileLog:
        """The log of a new directory, or of a directory after a crash while a snapshot replaced the
        log. Raises DataError if the checkpoint shows that segments are missing."""
        newest = self.place.snapshots.newest
        if saved and (
            newest is None or not is_newer_than_log(newest, saved[-1].start_offset, saved[-1].epoch)
        ):
            path = self.place.segment(saved[0].start_offset).path()
            raise CorruptDataError(f"the log's segments are gone; {ADVICE}", None, path)
        start = 0 if newest is None else newest.offset
        checkpoint = EpochCheckpoint(self.place.files, self.place.folder, (), None)
        active = create_segment(self.place.segment(start), self.place.config)
        log = self._log(checkpoint, [], active, start, start)
        self._clean(log)
        return log

    def _log(
        self,
        checkpoint: EpochCheckpoint,
        closed: list[CheckedSegment],
        active: ActiveSegment,
        log_start: int,
        control_from: int,
    ) -> FileLog:
        checkpoint.save()
        segments = [checked.segment for checked in closed]
        content = checkpoint, segments, active, self.control, control_from
        return FileLog(log_start, self.repairs, self.place, *content)

    def _log_start(self, bases: list[int], saved: Epochs | None) -> int:
        """The log start (inclusive): the first start offset in the leader-epoch checkpoint, if it
        is above the base offset of the first segment and a snapshot ends there; else that base
        offset. Segments below the log start are leftovers, which Kafka deletes later."""
        if saved and saved[0].start_offset > bases[0]:
            start = saved[0].start_offset
            if any(snapshot_id.offset == start for snapshot_id in self.place.snapshots):
                return start
        return bases[0]

    @property
    def _covered(self) -> int:
        """The end offset of the newest snapshot. Synced batches below this offset aren't read
        again."""
        return 0 if self.place.snapshots.newest is None else self.place.snapshots.newest.offset

    def _closed(self, bases: list[int]) -> list[CheckedSegment]:
        found = []
        for base, following in pairwise(bases):
            checked = None
            if following <= self._covered and following != bases[-1]:
                checked = trust_closed(self.place.segment(base), following)
            try:
                checked = checked or check_closed(self.place.segment(base), self.place.config)
            except DataError as error:
                raise _refusal(error) from error
            segment = checked.segment
            if segment.end_offset != following:
                reason = (
                    f"ends at offset {segment.end_offset}, the next segment starts at {following}"
                )
                raise CorruptDataError(f"{reason}; {ADVICE}", segment.size, segment.files.path())
            if checked.rebuilt:
                self.repairs.append(f"{self.place.folder}: indexes of segment {base} made anew")
            found.append(checked)
        return found

    def _scanned(
        self, base: int, closed: list[CheckedSegment], saved: Epochs | None
    ) -> ScannedSegment:
        """The newest segment, read from the newest snapshot's end on. The whole segment is read if
        the checkpoint lacks epochs of the part below the snapshot's end."""
        ends = [checked.last for checked in closed if checked.last]
        epoch = ends[-1].epoch if ends else -1
        for covered in (self._covered if _holds(saved, ends) else 0, 0):
            self.epochs, self.control = (), []
            scanned = scan_segment(
                self.place.segment(base),
                self.place.config,
                epoch=epoch,
                visit=self._visit,
                covered=covered,
            )
            if scanned.trusted is None or _holds(saved, [scanned.trusted]):
                break
            scanned.segment.close()
        if self.unread is not None:
            scanned.segment.close()
            path = scanned.segment.files.path()
            raise _refusal(self.unread.in_file(path)) from self.unread
        return scanned

    def _visit(self, run: Run, data: Buffer) -> None:
        if not self.epochs or run.epoch > self.epochs[-1].epoch:
            self.epochs = epochs.assign(self.epochs, run.epoch, run.base_offset)
        if run.is_control:
            start = run.position
            found = frames(data, start=start, expected_offset=run.base_offset, check_crc=False)
            try:
                self.control += [batch_in(data, frame, start) for frame in found]
            except DataError as error:
                # raised after the walk, which would take a DataError for the segment's torn end
                self.unread = self.unread or error

    def _judge_end(self, scanned: ScannedSegment) -> None:
        """Raise DataError for damage at the end of the newest segment that a crash can't have
        caused."""
        segment, damage = scanned.segment, scanned.damage
        path = segment.files.path()
        if damage is None:
            damage = CorruptDataError("the file ends", segment.size, path)
        synced = synced_end(segment.files)
        covered = self._covered
        if segment.end_offset < synced and covered < synced:
            reason = f"{damage.reason}, yet all below offset {synced} was synced once"
            raise _refusal(CorruptDataError(reason, damage.position, path))
        if scanned.damage is None:
            return
        with segment.files.open() as log:
            size = log.size()
            rest = log.read(segment.size, min(size - segment.size, _SEARCHED_BYTES))
        beyond = [
            batch.header.base_offset
            for batch in scan(rest).batches
            if batch.crc_valid and batch.header.base_offset >= covered
        ]
        if segment.end_offset < covered and beyond:
            reason = (
                f"{damage.reason}; below the end of snapshot {covered}, and the batch at offset "
                f"{beyond[0]}, which that snapshot doesn't hold, lies behind it"
            )
            raise _refusal(CorruptDataError(reason, damage.position, path))
        self.repairs.append(
            f"{path}: byte {segment.size}: {size - segment.size} bytes cut, a torn end: "
            f"{damage.reason}"
        )

    def _entries(
        self,
        saved: Epochs | None,
        closed: list[CheckedSegment],
        scanned: ScannedSegment,
        log_start: int,
    ) -> Epochs:
        """The entries of the epoch cache. The entries for closed segments come from the checkpoint
        file, if that file fits these segments. The entries for the newest segment come from the
        batches that were read."""
        # an entry that starts in the part that was read counts only if a batch of this part has its
        # epoch
        entries = epochs.truncate_from_end(saved or (), scanned.read_from)
        ends = [checked.last for checked in closed if checked.last]
        if not _holds(entries, ends):
            entries = epochs_of(checked.segment for checked in closed)
            self.repairs.append(
                f"{self.place.folder}: leader-epoch-checkpoint made anew from the batches"
            )
        for entry in self.epochs:
            if not entries or entry.epoch > entries[-1].epoch:
                entries = epochs.assign(entries, entry.epoch, entry.start_offset)
        return epochs.truncate_from_start(entries, log_start)

    def _judge_snapshots(self, log_start: int, entries: Epochs, log_end: int) -> None:
        """Raise DataError if no file has the records below the log start, or the records between
        the log and the newest snapshot."""
        newest = self.place.snapshots.newest
        if log_start > 0 and not any(s.offset >= log_start for s in self.place.snapshots):
            path = self.place.segment(log_start).path()
            reason = f"no snapshot ends at or above the log start {log_start}"
            raise _refusal(CorruptDataError(reason, None, path))
        if (
            newest
            and newest.offset > log_end
            and not is_newer_than_log(newest, log_end, last_epoch_of(entries))
        ):
            reason = (
                f"the log ends at offset {log_end} of epoch {entries[-1].epoch}, its snapshot at "
                f"{newest.offset} of epoch {newest.epoch}"
            )
            raise _refusal(CorruptDataError(reason, None, self.place.folder))

    def _restart_at_newer_snapshot(self, log: FileLog) -> None:
        newest = self.place.snapshots.newest
        if newest is not None and log.is_older_than(newest):
            self.repairs.append(
                f"{self.place.folder}: the log ended at {log.log_end}, it restarts at its newer "
                f"snapshot {newest.offset}-{newest.epoch}"
            )
            log.reset_to(newest)

    def _clean(self, log: FileLog) -> None:
        """Remove files that are no longer needed. The log is valid without this step."""
        self.place.snapshots.delete(
            [id for id in self.place.snapshots if id.offset < log.log_start]
        )
        names = self.place.files.names(self.place.folder)
        leftovers = [name for name in names if _is_leftover(name, names)]
        for name in leftovers:
            self.place.files.remove(f"{self.place.folder}/{name}")
            self.repairs.append(f"{self.place.folder}/{name}: a leftover, removed")
        if leftovers:
            self.place.files.sync_directory(self.place.folder)


def _holds(saved: Epochs | None, batches: list[Frame]) -> bool:
    """Whether `saved`, the entries of a leader-epoch-checkpoint, have the epochs of all batches."""
    found = (epochs.epoch_for_offset(saved or (), batch.last_offset) for batch in batches)
    return all(epoch == batch.epoch for epoch, batch in zip(found, batches, strict=True))


def _is_leftover(name: str, names: tuple[str, ...]) -> bool:
    """Whether a crash left this file beside the log: an incomplete file, a file that was about to
    be deleted, or an index without its log."""
    if name.endswith((TEMPORARY_SUFFIX, ".cleaned", ".deleted")):
        return True
    snapshot = parse_name(name)
    if snapshot is not None:
        return snapshot.state is not SnapshotState.COMPLETE
    found = classify(name)
    if found.kind not in INDEX_KINDS or found.base_offset is None:
        return False
    return segment_file_name(found.base_offset, FileKind.SEGMENT) not in names


def _refusal(error: DataError) -> DataError:
    return type(error)(f"{error.reason}; {ADVICE}", error.position, error.path)
