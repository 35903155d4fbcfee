"""The fold over a log's batches that a replay is: states at given ends, and refused records.

It begins at offset 0, or where a whole snapshot of the directory ends, and again at the next such
place behind a hole, a damaged batch or a record that can't be read: states are never told across
such a place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from replica.check.examined import Examined
from replica.errors import CorruptDataError, DataError
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.directory import SegmentFile, SnapshotFile
from replica.format.record import Record, records_of
from replica.format.segment import LocatedBatch
from replica.format.snapshot import SnapshotState
from replica.metadata.image import EMPTY, Image, Refusal, ReplayedRecord, meaning
from replica.model.epochs import OffsetAndEpoch

Watch = Callable[[str], None]
"""Is given a line that says how far a long work has come, now and then."""


class RecordReader(Protocol):
    """Turns a log record into a value for a replay: `meaning`, or the same without secrets."""

    def __call__(self, record: Record, *, is_control: bool) -> ReplayedRecord: ...


class AnyReplay(Protocol):
    """A replay, scalar or by the bulk reader."""

    def apply(self, offset: int, record: ReplayedRecord) -> Refusal | None: ...

    def image(self) -> Image: ...


@dataclass(frozen=True, slots=True)
class Refused:
    """The first record that can't be applied, and where its batch lies."""

    path: str
    position: int
    epoch: int
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class NewestState:
    """The newest state that a log, or a snapshot beside it, tells.

    end: offset (exclusive) and epoch up to which it holds. is_whole: False where the log goes on
    behind it, with what can't be replayed.
    """

    image: Image
    end: OffsetAndEpoch
    is_whole: bool = True


@dataclass(frozen=True)
class FoldedImages:
    """images: the state at each end asked for that could be reached. first_refused: None where
    every record could be applied; refused_count: how many couldn't. left_out: why nothing was
    replayed, "" where it was. newest: None where nobody asked for it, or no state is known."""

    images: dict[OffsetAndEpoch, Image] = field(default_factory=dict)
    first_refused: Refused | None = None
    refused_count: int = 0
    left_out: str = ""
    newest: NewestState | None = None


def read_batch(
    batch: LocatedBatch, content: FileContent, inflation: Inflation, read: RecordReader = meaning
) -> Iterator[tuple[Record, ReplayedRecord]]:
    """A batch's records with what they mean. DataError where a record has no meaning here, or the
    batch isn't there any more.

    content, inflation: of the file. read: in place of `meaning`.
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
    read: RecordReader = meaning,
) -> Iterator[Refusal]:
    """Apply the records of a batch; returns the refused ones. The rest is as in `read_batch`."""
    for record, message in read_batch(batch, content, inflation, read):
        refusal = replay.apply(record.offset, message)
        if refusal is not None:
            yield refusal


SnapshotImage = Callable[[Examined, SnapshotFile], Image | None]
"""The state in a snapshot; None where it isn't known to the last record."""


class LogFold:
    """The fold over a log's batches. end: of the last one. images, first_refused, refused_count:
    see Replayed.

    new_replay: makes what applies records, from a state on. snapshot_image: reads the states that
    the fold may begin with.
    """

    def __init__(
        self,
        examined: Examined,
        wanted: Collection[OffsetAndEpoch],
        new_replay: Callable[[Image], AnyReplay],
        snapshot_image: SnapshotImage,
    ) -> None:
        self._examined = examined
        self._wanted = frozenset(wanted)
        self._new_replay = new_replay
        self._snapshot_image = snapshot_image
        self._bases = whole_snapshots(examined)
        self._replay: AnyReplay | None = None  # None while no state is known
        # the newest end of which the state was known, and the replay that knew it
        self._known: tuple[AnyReplay, OffsetAndEpoch] | None = None
        self.end = OffsetAndEpoch(-1, -1)
        self.images: dict[OffsetAndEpoch, Image] = {}
        self.first_refused: Refused | None = None
        self.refused_count = 0
        self._inflating: SegmentFile | None = None
        self._inflation = Inflation(0)

    def replayed(self, *, newest: bool = False) -> FoldedImages:
        """newest: whether the state at the log's end is wanted."""
        state = self._newest() if newest else None
        return FoldedImages(self.images, self.first_refused, self.refused_count, newest=state)

    def _newest(self) -> NewestState | None:
        """The state where the log ends, or where it could still be replayed; that of the newest
        whole snapshot, if this one is newer: a node has fetched it, or a hole is behind it."""
        newest = None
        if self._known is not None:
            replay, end = self._known
            newest = NewestState(replay.image(), end, is_whole=end == self.end)
        for offset, snapshots in sorted(self._bases.items(), reverse=True):
            if newest is not None and offset <= newest.end.offset:
                break
            for snapshot in snapshots:
                image = self._snapshot_image(self._examined, snapshot)
                if image is not None and snapshot.id is not None:
                    return NewestState(image, snapshot.id, is_whole=offset >= self.end.offset)
        return newest

    def take(self, segment: SegmentFile, batch: LocatedBatch) -> None:
        """The next batch of the log, record by record."""
        header = batch.header
        replay = self.enter(header.base_offset)
        if replay is not None:
            content = self._examined.content_of(segment)
            try:
                for refusal in apply_batch(replay, batch, content, self._inflation_of(segment)):
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

    def enter(self, base_offset: int) -> AnyReplay | None:
        """The replay that takes the next batch; None where no state is known, so that records say
        nothing."""
        if base_offset != self.end.offset:
            self._replay = self._new_replay(EMPTY) if base_offset == 0 else None
            self.end = OffsetAndEpoch(base_offset, -1)
        if self._replay is None:
            self._replay = self._begin()
        return self._replay

    def refuse(self, count: int, first: Refused | None) -> None:
        """Count more records that can't be applied. first: the first of them, if it is known."""
        self.refused_count += count
        if self.first_refused is None:
            self.first_refused = first

    def break_off(self) -> None:
        """A record of the batch can't be read, so the state behind it is unknown."""
        self._replay = None

    def leave(self, end: OffsetAndEpoch) -> None:
        """The batch ends here (exclusive), in this epoch."""
        self.end = end
        if self._replay is not None:
            self._known = self._replay, end
            if end in self._wanted:
                self.images[end] = self._replay.image()

    def _begin(self) -> AnyReplay | None:
        """Begin at a snapshot that ends here; if there is a batch before, the snapshot must be on
        its lineage."""
        for snapshot in self._bases.get(self.end.offset, ()):
            assert snapshot.id is not None
            if self.end.epoch in (-1, snapshot.id.epoch):
                image = self._snapshot_image(self._examined, snapshot)
                if image is not None:
                    return self._new_replay(image)
        return None


def whole_snapshots(examined: Examined) -> dict[int, list[SnapshotFile]]:
    """Whole snapshots by their end offset, those about to be deleted included."""
    found: dict[int, list[SnapshotFile]] = {}
    for snapshot in examined.directory.snapshots:
        is_base = snapshot.state is not SnapshotState.PART and snapshot.is_whole
        if is_base and snapshot.id is not None and snapshot.id.offset > 0:
            found.setdefault(snapshot.id.offset, []).append(snapshot)
    return found
