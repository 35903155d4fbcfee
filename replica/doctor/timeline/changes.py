"""Finds the typed changes that the records of a branch and of its tails make.

replica.doctor.check.replay_fold defines where the replay begins. The entities of its first snapshot
are state, not changes. A record takes about 20 us.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from replica.doctor.check.examined import Examined
from replica.doctor.check.replay_fold import Fold, Watch, read_batch
from replica.doctor.check.replaying import snapshot_image
from replica.doctor.timeline.branch import Branch, BranchTail, Piece
from replica.errors import DataError
from replica.format.compression import Inflation
from replica.format.directory import SegmentFile, SnapshotFile
from replica.format.record import Record
from replica.format.walk import LocatedBatch
from replica.metadata.changes.named_changes import ChangeNamer, NamedChange, topic_names_around
from replica.metadata.image.image import EMPTY, Image
from replica.metadata.image.replay import RecordReader, ReplayedRecord, reader
from replica.metadata.image.state import EntityTable
from replica.metadata.image.versions import VersionedReplay
from replica.metadata.record import MetadataRecord
from replica.metadata.redact import Redactor
from replica.model.epochs import OffsetAndEpoch

FROM_SNAPSHOT = -1
"""The value in place of the offset of an entity that a snapshot gave: offsets within a snapshot are
no offsets of the log."""
_EVERY_BATCHES = 512


class LoggedChange(NamedTuple):
    """A change, and the record that made it."""

    at: int
    """The time in ms since 1970 (UTC) of the record, or of the end of its transaction."""
    leader_epoch: int
    commitment: str
    """`proven`, `unproven` or `superseded`, as in gold.metadata_changes."""
    named: NamedChange
    """The change, with the name of its entity."""
    tail: BranchTail | None = None
    """The tail that holds the record; None for a record of the branch."""

    @property
    def offset(self) -> int:
        """The offset of the record."""
        return self.named.write.offset


class UnknownOffsets(NamedTuple):
    """Offsets of the branch whose changes are not known, from `start` (inclusive) to `end`
    (exclusive)."""

    start: int
    end: int
    why: str
    """The reason, in words that continue a sentence behind a colon."""


def _redacting(examined: Examined, redactor: Redactor | None) -> RecordReader | None:
    if redactor is None:
        return None
    whole = reader(examined.passed_over)

    def read(record: Record, *, is_control: bool) -> ReplayedRecord:
        message = whole(record, is_control=is_control)
        return redactor.redact(message)[0] if type(message) is MetadataRecord else message

    return read


class ChangeWalk:
    """One walk along the branch. unknown: the offsets of the branch whose changes are not known.
    bases: the states of the snapshots with which the walk began, at the log's start or behind
    unknown offsets. Both are complete once all changes were taken.

    redactor: removes secrets; None to keep them. watch: receives the progress.
    """

    def __init__(
        self, branch: Branch, redactor: Redactor | None, watch: Watch | None = None
    ) -> None:
        self.unknown: list[UnknownOffsets] = []
        self.bases: list[Image] = []
        self._branch = branch
        self._redactor = redactor
        self._watch = watch or (lambda _: None)
        self._tails = list(reversed(branch.tails))
        self._namer = ChangeNamer()
        self._fold = Fold(branch.members, self._new_replay, self._image)

    def changes(self) -> Iterator[LoggedChange]:
        """The changes in the order of the log. The changes of a tail come where the tail leaves the
        branch."""
        for piece in self._branch.pieces:
            yield from self._piece(piece)
        yield from self._leaving_at(self._fold.end.offset)

    def image_at(self, end_offset: int) -> Image | None:
        """The state after the offsets below `end_offset`, if the walk has come to `end_offset` and
        the state is known; else None."""
        if self._fold.end.offset != end_offset:
            self._fold.enter(end_offset)
        return None if self._fold.replay is None else self._fold.replay.image()

    def _piece(self, piece: Piece) -> Iterator[LoggedChange]:
        batches = self._with_records(piece.examined, piece.batches())
        for number, (batch, records) in enumerate(batches):
            header = batch.header
            if number % _EVERY_BATCHES == 0:
                self._watch(f"{piece.examined.shown}: replaying offset {header.base_offset}")
            epoch = header.leader_epoch
            start, end = max(header.base_offset, piece.start), min(header.next_offset, piece.end)
            if 0 <= self._fold.end.offset < start:
                self._miss(self._fold.end.offset, start, "no directory holds these records")
            replay = self._fold.enter(start)
            if replay is None:
                self._miss(start, end, "no snapshot gives the state before these offsets")
            else:
                following = header.base_offset
                try:
                    for record, message in records:
                        following = record.offset
                        if piece.start <= record.offset < piece.end:
                            yield from self._leaving_at(record.offset)
                            yield from self._made(replay, self._namer, record, message, epoch)
                        following += 1
                except DataError as error:
                    self._miss(max(following, start), end, f"record {following}: {error.reason}")
                    self._fold.break_off()
            self._fold.leave(OffsetAndEpoch(end, epoch))

    def _miss(self, start: int, end: int, why: str) -> None:
        """Note unknown offsets. Adjacent unknown offsets become one range with the first reason."""
        if self.unknown and self.unknown[-1].end == start:
            self.unknown[-1] = self.unknown[-1]._replace(end=end)
        else:
            self.unknown.append(UnknownOffsets(start, end, why))

    def _leaving_at(self, offset: int) -> Iterator[LoggedChange]:
        """The changes of the tails that leave the branch at this offset. They are made to a copy of
        the branch's state."""
        while self._tails and self._tails[-1].start <= offset:
            tail = self._tails.pop()
            replay = self._fold.replay
            if tail.start == offset and replay is not None:
                yield from self._tail(tail, replay.copy(), ChangeNamer(self._namer.former))

    def _tail(
        self, tail: BranchTail, replay: VersionedReplay, namer: ChangeNamer
    ) -> Iterator[LoggedChange]:
        for batch, records in self._with_records(tail.examined, tail.batches()):
            epoch = batch.header.leader_epoch
            try:
                for record, message in records:
                    if record.offset >= tail.start:
                        yield from self._made(replay, namer, record, message, epoch, tail)
            except DataError:
                return

    def _made(
        self,
        replay: VersionedReplay,
        namer: ChangeNamer,
        record: Record,
        message: ReplayedRecord,
        epoch: int,
        tail: BranchTail | None = None,
    ) -> Iterator[LoggedChange]:
        """Apply a record to the replay. Yields the changes that the record makes, named by `namer`.

        message: the record's value for the replay. epoch: the leader epoch of the record's batch.
        tail: the tail that holds the record; None for the branch.
        """
        writes = replay.apply(record.offset, message)
        if writes:
            commitment = self._branch.commitment(record.offset, tail)
            names = topic_names_around(writes, replay.state.topics.values)
            for told in namer.named(writes, names):
                yield LoggedChange(record.timestamp, epoch, commitment, told, tail)

    def _with_records(
        self, examined: Examined, batches: Iterable[tuple[SegmentFile, LocatedBatch]]
    ) -> Iterator[tuple[LocatedBatch, Iterator[tuple[Record, ReplayedRecord]]]]:
        """Each batch of consecutive files, with its records. All batches of a file share one limit
        of decompressed bytes."""
        read = _redacting(examined, self._redactor) or reader(examined.passed_over)
        path, inflation = "", Inflation(0)
        for segment, batch in batches:
            content = examined.content_of(segment)
            if segment.file.path != path:
                path, inflation = segment.file.path, Inflation(content.size)
            yield batch, read_batch(batch, content, inflation, read)

    def _image(self, examined: Examined, snapshot: SnapshotFile) -> Image | None:
        return snapshot_image(examined, snapshot, _redacting(examined, self._redactor))

    def _new_replay(self, image: Image) -> VersionedReplay:
        self._namer = ChangeNamer()
        if image is not EMPTY:
            self.bases.append(image)
        return VersionedReplay(_unplaced(image))


def _unplaced(image: Image) -> Image:
    """A snapshot's image without the offsets of its records."""
    return Image(
        {
            name: EntityTable(table.values, dict.fromkeys(table.values, FROM_SNAPSHOT))
            for name, table in image.tables.items()
        }
    )
