"""Replays the batches of a log to states. The result has the state at each wanted end offset, and
the refused records.

A fold begins at offset 0, or where a whole snapshot ends. At a hole, a damaged batch or a record
that can't be read, the state becomes unknown. The fold then begins again where the next whole
snapshot ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from replica.doctor.check.examined import Examined
from replica.errors import CorruptDataError, DataError
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.directory import SegmentFile, SnapshotFile
from replica.format.record import Record, records_of
from replica.format.snapshot import SnapshotState
from replica.format.walk import LocatedBatch
from replica.metadata.image.image import EMPTY, Image
from replica.metadata.image.replay import RecordReader, Refusal, ReplayedRecord, reader
from replica.model.epochs import OffsetAndEpoch

Watch = Callable[[str], None]
"""A function that is called from time to time during long work, with a line of text about the
progress."""


class AnyReplay(Protocol):
    """A replay, by the scalar reader or by the bulk reader."""

    def apply(self, offset: int, record: ReplayedRecord) -> Refusal | None: ...

    def image(self) -> Image: ...


_Replay = TypeVar("_Replay")
_Log = TypeVar("_Log", bound=AnyReplay)


@dataclass(frozen=True, slots=True)
class Refused:
    """The first record of a log or snapshot that a replay could not apply, with its place."""

    path: str
    """The file that holds the record."""
    position: int
    """The byte of the file at which the batch of the record begins."""
    epoch: int
    """The leader epoch of the batch that holds the record."""
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class NewestState:
    """The newest state of a log, or of a newer snapshot beside it."""

    image: Image
    end: OffsetAndEpoch
    """The end offset (exclusive) of the state, and its epoch."""
    is_whole: bool = True
    """False if the log continues behind this end with records that can't be replayed."""


@dataclass(frozen=True)
class FoldedImages:
    """The result of a fold."""

    images: dict[OffsetAndEpoch, Image] = field(default_factory=dict)
    """The states at the wanted ends that were reached."""
    first_refused: Refused | None = None
    """The first record that was refused; None if every record was applied."""
    refused_count: int = 0
    """The number of records that were refused."""
    left_out: str = ""
    """The reason why nothing was replayed; empty if something was replayed."""
    newest: NewestState | None = None
    """The newest state; None if the caller didn't want it, or if no state is known."""


def read_batch(
    batch: LocatedBatch, content: FileContent, inflation: Inflation, read: RecordReader
) -> Iterator[tuple[Record, ReplayedRecord]]:
    """(record, its value for a replay) for each record of a batch. Raises DataError if a record
    can't be decoded, or if the file no longer has the batch.

    content, inflation: of the batch's file. read: a function that decodes a record, as `meaning`
    does.
    """
    whole = content.batch(batch)
    if not whole:
        raise CorruptDataError("the batch is gone", batch.position)
    for record in records_of(batch.header, whole, inflation):
        yield record, read(record, is_control=batch.header.is_control)


def apply_batch(
    replay: AnyReplay,
    batch: LocatedBatch,
    content: FileContent,
    inflation: Inflation,
    read: RecordReader,
) -> Iterator[Refusal]:
    """Apply the records of a batch. Yields a Refusal for each record that can't be applied. The
    other arguments and the errors are the same as for read_batch."""
    for record, message in read_batch(batch, content, inflation, read):
        refusal = replay.apply(record.offset, message)
        if refusal is not None:
            yield refusal


def is_refused(
    replay: AnyReplay,
    batch: LocatedBatch,
    content: FileContent,
    inflation: Inflation,
    read: RecordReader,
) -> bool:
    """Apply the records of a batch, up to the first that can't be read or applied. Returns whether
    there is such a record. The arguments are those of apply_batch."""
    try:
        return any(True for _ in apply_batch(replay, batch, content, inflation, read))
    except DataError:
        return True


SnapshotImage = Callable[[Examined, SnapshotFile], Image | None]
"""A function that reads the state of a snapshot. It gives None if a record can't be read or
applied."""


class Fold(Generic[_Replay]):
    """Finds the replay to which each batch of a log has to be applied.

    replay: the current replay; None while no state is known.
    end: the end offset (exclusive) and epoch of the last batch.
    directories: the fold may begin with the whole snapshots of these directories.
    new_replay: a function that makes a replay from a given state.
    snapshot_image: a function that reads the state of a snapshot.
    """

    def __init__(
        self,
        directories: Iterable[Examined],
        new_replay: Callable[[Image], _Replay],
        snapshot_image: SnapshotImage,
    ) -> None:
        self._new_replay = new_replay
        self._snapshot_image = snapshot_image
        self._bases: dict[int, list[tuple[OffsetAndEpoch, Examined, SnapshotFile]]] = {}
        for examined in directories:
            for snapshot in examined.directory.snapshots:
                is_base = snapshot.state is not SnapshotState.PART and snapshot.is_whole
                if is_base and snapshot.id is not None and snapshot.id.offset > 0:
                    base = snapshot.id, examined, snapshot
                    self._bases.setdefault(snapshot.id.offset, []).append(base)
        self.replay: _Replay | None = None
        self.end = OffsetAndEpoch(-1, -1)

    def enter(self, base_offset: int) -> _Replay | None:
        """The replay for the batch that begins at this offset; None where no state is known to
        which its records could be applied."""
        if base_offset != self.end.offset:
            self.replay = self._new_replay(EMPTY) if base_offset == 0 else None
            self.end = OffsetAndEpoch(base_offset, -1)
        if self.replay is None:
            for snapshot_id, examined, snapshot in self._bases.get(base_offset, ()):
                # if the log has a batch that ends here too, the snapshot must have its epoch
                if self.end.epoch in (-1, snapshot_id.epoch):
                    image = self._snapshot_image(examined, snapshot)
                    if image is not None:
                        self.replay = self._new_replay(image)
                        break
        return self.replay

    def break_off(self) -> None:
        """Note that a record of the batch can't be read, so that the state behind it is unknown."""
        self.replay = None

    def leave(self, end: OffsetAndEpoch) -> None:
        """Note where the batch ends (exclusive), and its epoch."""
        self.end = end


class LogFold(Fold[_Log]):
    """Folds the batches of a directory's log, which the caller gives one by one.

    images, first_refused, refused_count: as in FoldedImages. wanted: the ends of the wanted states.
    The other arguments are the same as for Fold.
    """

    def __init__(
        self,
        examined: Examined,
        wanted: Collection[OffsetAndEpoch],
        new_replay: Callable[[Image], _Log],
        snapshot_image: SnapshotImage,
    ) -> None:
        super().__init__((examined,), new_replay, snapshot_image)
        self._examined = examined
        self._wanted = frozenset(wanted)
        # the newest end at which the state was known, and the replay that had this state
        self._known: tuple[_Log, OffsetAndEpoch] | None = None
        self.images: dict[OffsetAndEpoch, Image] = {}
        self.first_refused: Refused | None = None
        self.refused_count = 0
        self._inflating: SegmentFile | None = None
        self._inflation = Inflation(0)

    def replayed(self, *, newest: bool = False) -> FoldedImages:
        """The result of all batches that were given so far. newest: whether the newest state is
        also wanted."""
        state = self._newest() if newest else None
        return FoldedImages(self.images, self.first_refused, self.refused_count, newest=state)

    def _newest(self) -> NewestState | None:
        """The newest state to which the log could be replayed, or the state of the newest whole
        snapshot if that is newer. A snapshot is newer when the node has just fetched it, or when
        the log has a hole before the snapshot's end. None if no state is known."""
        newest = None
        if self._known is not None:
            replay, end = self._known
            newest = NewestState(replay.image(), end, is_whole=end == self.end)
        for offset, bases in sorted(self._bases.items(), reverse=True):
            if newest is not None and offset <= newest.end.offset:
                break
            for snapshot_id, examined, snapshot in bases:
                image = self._snapshot_image(examined, snapshot)
                if image is not None:
                    return NewestState(image, snapshot_id, is_whole=offset >= self.end.offset)
        return newest

    def take(self, segment: SegmentFile, batch: LocatedBatch) -> None:
        """Take the next batch of the log, record by record."""
        header = batch.header
        replay = self.enter(header.base_offset)
        if replay is not None:
            content = self._examined.content_of(segment)
            try:
                for refusal in apply_batch(
                    replay,
                    batch,
                    content,
                    self._inflation_of(segment),
                    reader(self._examined.passed_over),
                ):
                    place = segment.file.path, batch.position, header.leader_epoch
                    self.refuse(1, Refused(*place, refusal))
            except DataError:
                self.break_off()
        self.leave(OffsetAndEpoch(header.next_offset, header.leader_epoch))

    def _inflation_of(self, segment: SegmentFile) -> Inflation:
        if self._inflating is not segment:
            self._inflating = segment
            self._inflation = Inflation(self._examined.content_of(segment).size)
        return self._inflation

    def refuse(self, count: int, first: Refused | None) -> None:
        """Count further records that can't be applied. first: the first of them, if it is known."""
        self.refused_count += count
        if self.first_refused is None:
            self.first_refused = first

    def leave(self, end: OffsetAndEpoch) -> None:
        super().leave(end)
        if self.replay is not None:
            self._known = self.replay, end
            if end in self._wanted:
                self.images[end] = self.replay.image()
