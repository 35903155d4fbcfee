"""Replays the committed records of Kafka's metadata to an image (Kafka: MetadataLoader)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from replica.format.batch import decode_header
from replica.format.control import decode_control
from replica.format.record import Record, records_of
from replica.format.stored_batches import StoredBatches
from replica.metadata.codec import decode, encode
from replica.metadata.image.image import EMPTY, Image, differences
from replica.metadata.image.replay import Replay, ReplayedRecord
from replica.metadata.image.settings import METADATA_VERSION
from replica.metadata.image.snapshot import to_records
from replica.metadata.record import MetadataRecord
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.raft.ports import StateMachine

ReadRecord: TypeAlias = Callable[[Record, bool], ReplayedRecord | None]
"""A function from a record, and whether it is a control record, to the decoded record (see
message_in)."""
ReplayStored: TypeAlias = Callable[[Replay, StoredBatches, ReadRecord], None]
"""A function that applies all records of stored batches to a replay, as `commit` does record by
record. It raises DataError where `commit` does."""

BULK_BYTES = 1024 * 1024
"""The fewest bytes of batches for which the bulk replay is used, if the image is empty."""
_BYTES_PER_ENTITY = 16
"""The bytes that are added to BULK_BYTES for each topic and partition of the image, because the
bulk replay needs time for each of them at its start."""
_replay_stored: ReplayStored | None = None


def use(replay: ReplayStored | None) -> None:
    """Set the function by which all machines of this process replay many stored batches; None to
    replay record by record."""
    global _replay_stored
    _replay_stored = replay


def message_in(record: Record, is_control: bool) -> ReplayedRecord | None:
    """The decoded record; None if the record has no value. Raises DataError, which names the byte
    in the value."""
    if is_control:
        return decode_control(record.key, record.value)
    return None if record.value is None else decode(record.value)


def messages_in(batch: Batch) -> Iterator[tuple[int, ReplayedRecord]]:
    """Each record of a batch that has a value, with its offset. Raises DataError, which names the
    byte in the batch that can't be decoded, after the records before it."""
    header = decode_header(batch.data)
    for record in records_of(header, batch.data):
        message = message_in(record, header.is_control)
        if message is not None:
            yield record.offset, message


class MetadataMachine(StateMachine):
    """The state machine of Kafka's metadata.

    next_offset: every record below this offset is in the image, except those of an open
        transaction.

    read: a function that gives the records of a batch, as messages_in does. A process with many
        machines may pass a function that caches them.
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
        """Whether a snapshot may be written: False while a transaction is open, because the
        snapshot would lose its records (KIP-868)."""
        return not self._replay.in_transaction

    @property
    def metadata_version(self) -> int | None:
        """The finalized level of metadata.version at `next_offset`; None if no level is finalized.
        The records of an open transaction count too."""
        return self._replay.state.features.values.get(METADATA_VERSION)

    def is_controller(self, controller_id: int) -> bool:
        """Whether a controller is registered at `next_offset`. The records of an open transaction
        count too."""
        return controller_id in self._replay.state.controllers.values

    def commit(self, batches: Iterable[Batch]) -> None:
        """Apply the batches. Raises DataError, which names the byte that can't be decoded, in its
        file or in the batch."""
        if isinstance(batches, StoredBatches) and _replay_at_once(self._replay, batches):
            first, last = batches.files[0], batches.files[-1]
            assert first.base_offset == self.next_offset, "each committed batch comes once"
            assert last.end_offset is not None, "the log knows where it ends"
            self.next_offset = last.end_offset
            return
        for batch in batches:
            assert batch.base_offset == self.next_offset, "each committed batch comes once"
            self._apply(self._replay, batch, None)
            self.next_offset = batch.end_offset

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        """Replace the state by that of a snapshot. Raises DataError, and keeps the old state, if a
        record can't be decoded."""
        replay = Replay()
        if isinstance(batches, StoredBatches) and _replay_at_once(replay, batches):
            replay.renumber(snapshot_id.offset - 1)
        else:
            for batch in batches:
                self._apply(replay, batch, snapshot_id.offset - 1)
        self._replay, self._snapshot = replay, replay.image()
        self.next_offset = snapshot_id.offset

    def snapshot_records(self) -> Callable[[], tuple[bytes, ...]]:
        """The returned function gives the image's records, without voters and kraft.version."""
        assert self.can_snapshot, "a snapshot holds no half of a transaction"
        image = self._pending = self.image

        def encoded() -> tuple[bytes, ...]:
            records = to_records(image)
            return tuple(encode(record) for record in records if isinstance(record, MetadataRecord))

        return encoded

    def changed_ratio(self) -> float:
        """The share (0 to 1) of the newest snapshot's entities that were changed or removed since;
        1 if the snapshot had no entities."""
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


def _replay_at_once(replay: Replay, stored: StoredBatches) -> bool:
    """Replay stored batches by the bulk replay, if there is one and the batches are large enough.
    Returns whether they were replayed."""
    state = replay.state
    entities = len(state.topics.values) + len(state.partitions.values)
    if _replay_stored is None or stored.size_bytes < BULK_BYTES + _BYTES_PER_ENTITY * entities:
        return False
    _replay_stored(replay, stored, message_in)
    return True
