"""The bytes of a fetch as records (Kafka: CompletedFetch)."""

from __future__ import annotations

from dataclasses import dataclass

from replica.consumer.values import ConsumerRecord, FetchPosition
from replica.errors import DataError, TruncatedDataError
from replica.format.batch import decode_header
from replica.format.frames import Frame, frames
from replica.format.record import records_of
from replica.history.epochs import assign
from replica.model.epochs import Epochs


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """The records in the bytes of a fetch."""

    records: tuple[ConsumerRecord, ...]
    position: FetchPosition
    """The position after the last whole batch, even if compaction has removed this batch's last
    records."""
    epochs: Epochs
    """The epochs of all records that were read so far, each with the first offset that was read in
    it."""


def take(data: bytes, position: FetchPosition, epochs: Epochs) -> ReadRecords:
    """The records from `position` on. data: batches in the order of their offsets. An incomplete
    last batch is left for the next fetch.

    Raises DataError, with the byte in `data`, for bytes that no broker should send: a wrong CRC,
    offsets that go back, or less than one whole batch.
    """
    found: list[ConsumerRecord] = []
    at = 0
    for frame in frames(data, start=0, expected_offset=0, holes=True):
        if frame.end_offset > position.offset:
            first = max(position.offset, frame.base_offset)
            epochs = _with_epoch(epochs, frame.epoch, first)
            found += _records(data, frame, first)
            position = FetchPosition(frame.end_offset, frame.epoch)
        at = frame.end_position
    if data and at == 0:
        raise TruncatedDataError(
            f"not one whole batch in {len(data)} bytes: the fetch's size limit is too small", 0
        )
    return ReadRecords(tuple(found), position, epochs)


def _with_epoch(epochs: Epochs, epoch: int, first: int) -> Epochs:
    """The epochs with one more epoch. Batches of old clients have the epoch -1, which isn't
    added."""
    return assign(epochs, epoch, first) if epoch >= 0 else epochs


def _records(data: bytes, frame: Frame, first: int) -> list[ConsumerRecord]:
    batch = memoryview(data)[frame.position : frame.end_position]
    try:
        return [
            ConsumerRecord(record, frame.epoch, frame.is_control)
            for record in records_of(decode_header(batch), batch)
            if record.offset >= first
        ]
    except DataError as error:
        raise error.shifted(frame.position) from error
