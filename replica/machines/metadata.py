"""Replays the committed records of Kafka's metadata to an image (Kafka: MetadataLoader)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from replica.format.batch import decode_header
from replica.format.control import decode_control
from replica.format.record import records_of
from replica.metadata.codec import decode, encode
from replica.metadata.image.image import EMPTY, Image, differences
from replica.metadata.image.replay import Replay, ReplayedRecord
from replica.metadata.image.settings import METADATA_VERSION
from replica.metadata.image.snapshot import to_records
from replica.metadata.record import MetadataRecord
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.raft.ports import StateMachine


def messages_in(batch: Batch) -> Iterator[tuple[int, ReplayedRecord]]:
    """Each record of a batch that has a value, with its offset. Raises DataError, which names the
    byte in the batch that can't be decoded, after it has given the records before."""
    header = decode_header(batch.data)
    for record in records_of(header, batch.data):
        if header.is_control:
            yield record.offset, decode_control(record.key, record.value)
        elif record.value is not None:
            yield record.offset, decode(record.value)


class MetadataMachine(StateMachine):
    """The state machine of Kafka's metadata. next_offset: every record below this offset is in the
    image, except those of an open transaction.

    read: a function that gives the records of a batch, as messages_in does. A host of many machines
    may give one that remembers what it has read.
    """

    def __init__(
        self, read: Callable[[Batch], Iterable[tuple[int, ReplayedRecord]]] = messages_in
    ) -> None:
        self._read = read
        self.next_offset = 0
        self._replay = Replay()
        self._snapshot = EMPTY
        self._pending: Image | None = None

    @property
    def image(self) -> Image:
        return self._replay.image()

    @property
    def can_snapshot(self) -> bool:
        """Whether a snapshot may be written: not while a transaction is open, because half of it
        would be lost (KIP-868)."""
        return not self._replay.in_transaction

    @property
    def metadata_version(self) -> int | None:
        """The level of metadata.version that is finalized at `next_offset`, with open transactions;
        None where none is."""
        return self._replay.state.features.values.get(METADATA_VERSION)

    def is_controller(self, controller_id: int) -> bool:
        """Whether a controller is registered at `next_offset`, with open transactions."""
        return controller_id in self._replay.state.controllers.values

    def commit(self, batches: Iterable[Batch]) -> None:
        """Raises DataError, which names the byte in the batch that can't be decoded."""
        for batch in batches:
            assert batch.base_offset == self.next_offset, "each committed batch comes once"
            self._apply(self._replay, batch, None)
            self.next_offset = batch.end_offset

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        """Raises DataError, and keeps the state, where a record can't be decoded."""
        replay = Replay()
        for batch in batches:
            self._apply(replay, batch, snapshot_id.offset - 1)
        self._replay, self._snapshot = replay, replay.image()
        self.next_offset = snapshot_id.offset

    def snapshot_records(self) -> Callable[[], tuple[bytes, ...]]:
        """The function gives the image's records, without voters and kraft.version."""
        assert self.can_snapshot, "a snapshot holds no half of a transaction"
        image = self._pending = self.image

        def encoded() -> tuple[bytes, ...]:
            records = to_records(image)
            return tuple(encode(record) for record in records if isinstance(record, MetadataRecord))

        return encoded

    def changed_ratio(self) -> float:
        """The share (0 to 1) of the last snapshot's entities that were changed or removed; 1 where
        it had no entities."""
        held = sum(1 for _ in self._snapshot.entities())
        if not held:
            return 1.0
        rows = differences(self._snapshot, self.image)
        return sum(1 for row in rows if row.value_a is not None) / held

    def snapshot_finished(self, snapshot_id: OffsetAndEpoch) -> None:
        if self._pending is not None:
            self._snapshot, self._pending = self._pending, None

    def _apply(self, replay: Replay, batch: Batch, offset: int | None) -> None:
        """Apply the records of a batch. offset: the offset that all records get; None for their own
        offsets."""
        for own_offset, message in self._read(batch):
            replay.apply(own_offset if offset is None else offset, message)
