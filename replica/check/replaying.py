"""The replay of a log, as far as the directory holds it: states at given ends, refused records.

The one place where check goes through every record in Python (some 10 us each). It begins at offset
0, or where a whole snapshot of the directory ends, and again at the next such place behind a hole,
a damaged batch or a record that can't be read: states are never told across such a place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from replica.check.examined import Examined
from replica.errors import DataError, UnsupportedDataError
from replica.format.control import UnknownControl, decode_control
from replica.format.directory import SegmentFile, SnapshotFile
from replica.format.record import records_of
from replica.format.segment import LocatedBatch
from replica.format.snapshot import SnapshotState
from replica.metadata.image import Image, Refusal, Replay
from replica.metadata.reader import decode
from replica.metadata.record import UnknownRecord
from replica.types import OffsetAndEpoch

Watch = Callable[[str], None]
"""Told now and then how far long work is."""

_EVERY_BATCHES = 512


@dataclass(frozen=True, slots=True)
class Refused:
    """The first record that can't be applied, and where its batch lies."""

    path: str
    position: int
    epoch: int
    refusal: Refusal


@dataclass(frozen=True)
class Replayed:
    """images: the state at each end asked for that could be reached. first_refused: None where
    every record could be applied; refused_count: how many couldn't."""

    images: dict[OffsetAndEpoch, Image] = field(default_factory=dict)
    first_refused: Refused | None = None
    refused_count: int = 0


def replay_log(
    examined: Examined, wanted: Collection[OffsetAndEpoch], watch: Watch | None = None
) -> Replayed:
    """Replay the log; wanted: ends (exclusive) with the epoch of the record before."""
    replaying = _Replaying(examined, frozenset(wanted))
    for number, (segment, batch) in enumerate(_batches(examined)):
        if watch is not None and number % _EVERY_BATCHES == 0:
            watch(f"{examined.shown}: replaying offset {batch.header.base_offset}")
        replaying.take(segment, batch)
    return Replayed(replaying.images, replaying.first_refused, replaying.refused_count)


def snapshot_image(examined: Examined, snapshot: SnapshotFile) -> Image | None:
    """The state in a snapshot; None where part of it is damaged or unknown."""
    if snapshot.scan.damages:
        return None
    replay = Replay()
    data = examined.bytes_of(snapshot)
    try:
        for batch in snapshot.scan.batches:
            for _ in _apply(replay, batch, data):
                return None
    except DataError:
        return None
    return replay.image()


def _batches(examined: Examined) -> Iterator[tuple[SegmentFile, LocatedBatch]]:
    for segment in examined.directory.segments:
        for batch in segment.scan.batches:
            if batch.crc_valid:
                yield segment, batch


def _apply(replay: Replay, batch: LocatedBatch, data: memoryview) -> Iterator[Refusal]:
    """Apply a batch's records; the refusals. DataError where a record has no meaning here."""
    header = batch.header
    for record in records_of(header, data[batch.position : batch.position + header.size_bytes]):
        if header.is_control:
            control = decode_control(record.key, record.value)
            if isinstance(control, UnknownControl):
                raise UnsupportedDataError("a control record without a meaning here")
            refusal = replay.apply(record.offset, control)
        else:
            message = decode(record.value or b"")
            if type(message) is UnknownRecord:
                raise UnsupportedDataError("a record without a meaning here")
            refusal = replay.apply(record.offset, message)
        if refusal is not None:
            yield refusal


class _Replaying:
    """The fold over batches. replay: None while nothing is known of the state."""

    def __init__(self, examined: Examined, wanted: frozenset[OffsetAndEpoch]) -> None:
        self._examined = examined
        self._wanted = wanted
        self._bases = _bases(examined)
        self._replay: Replay | None = None
        self._end = OffsetAndEpoch(-1, -1)
        self.images: dict[OffsetAndEpoch, Image] = {}
        self.first_refused: Refused | None = None
        self.refused_count = 0

    def take(self, segment: SegmentFile, batch: LocatedBatch) -> None:
        """The next batch of the log."""
        header = batch.header
        if header.base_offset != self._end.offset:
            self._replay = Replay() if header.base_offset == 0 else None
            self._end = OffsetAndEpoch(header.base_offset, -1)
        if self._replay is None:
            self._replay = self._begin()
        if self._replay is not None:
            self._go_on(self._replay, segment, batch)
        self._end = OffsetAndEpoch(header.next_offset, header.leader_epoch)
        if self._replay is not None and self._end in self._wanted:
            self.images[self._end] = self._replay.image()

    def _begin(self) -> Replay | None:
        """From a snapshot that ends here, on the lineage of the batch before if there is one."""
        for snapshot in self._bases.get(self._end.offset, ()):
            assert snapshot.id is not None
            if self._end.epoch in (-1, snapshot.id.epoch):
                image = snapshot_image(self._examined, snapshot)
                if image is not None:
                    return Replay(image)
        return None

    def _go_on(self, replay: Replay, segment: SegmentFile, batch: LocatedBatch) -> None:
        try:
            for refusal in _apply(replay, batch, self._examined.bytes_of(segment)):
                self.refused_count += 1
                if self.first_refused is None:
                    place = segment.file.path, batch.position, batch.header.leader_epoch
                    self.first_refused = Refused(*place, refusal)
        except DataError:
            self._replay = None


def _bases(examined: Examined) -> dict[int, list[SnapshotFile]]:
    """Whole snapshots by their end offset, also such that are about to be deleted."""
    found: dict[int, list[SnapshotFile]] = {}
    for snapshot in examined.directory.snapshots:
        is_base = snapshot.state is not SnapshotState.PART and snapshot.is_whole
        if is_base and snapshot.id is not None and snapshot.id.offset > 0:
            found.setdefault(snapshot.id.offset, []).append(snapshot)
    return found
