"""The bytes of a fetch as records (Kafka: CompletedFetch)."""

from __future__ import annotations

from dataclasses import dataclass

from replica.consumer.values import ConsumerRecord, Position
from replica.errors import CorruptDataError, DataError, TruncatedDataError
from replica.format.batch import BatchHeader, computed_crc, decode_header
from replica.format.record import records_of
from replica.history.epochs import assign
from replica.model.epochs import Epochs


@dataclass(frozen=True, slots=True)
class Taken:
    """position: after the last whole batch, compacted records counted (K22). epochs: those of the
    records that were read so far, each with the first offset read in it."""

    records: tuple[ConsumerRecord, ...]
    position: Position
    epochs: Epochs


def take(data: bytes, position: Position, epochs: Epochs) -> Taken:
    """The records from `position` on of batches in offset order; a cut batch at the end waits for
    the next fetch.

    Raises DataError with the byte within `data` for what no broker should have sent: a wrong CRC,
    offsets that go back, not even one whole batch.
    """
    found: list[ConsumerRecord] = []
    view = memoryview(data)
    at, expected = 0, 0
    while (header := _header_at(view, at)) is not None:
        batch = view[at : at + header.size_bytes]
        if computed_crc(batch) != header.crc:
            raise CorruptDataError(f"batch at offset {header.base_offset} has a wrong CRC", at)
        if header.base_offset < expected:
            raise CorruptDataError(f"offset {header.base_offset} after {expected - 1}", at)
        if header.next_offset > position.offset:
            first = max(position.offset, header.base_offset)
            epochs = _with_epoch(epochs, header.leader_epoch, first)
            found += _records(header, batch, first, at)
            position = Position(header.next_offset, header.leader_epoch)
        at += header.size_bytes
        expected = header.next_offset
    if data and at == 0:
        raise TruncatedDataError(
            f"not one whole batch in {len(data)} bytes: the fetch's size limit is too small", 0
        )
    return Taken(tuple(found), position, epochs)


def _header_at(view: memoryview, at: int) -> BatchHeader | None:
    """The header of a batch that is there as a whole; None at the end."""
    try:
        header = decode_header(view, at)
    except TruncatedDataError:
        return None
    return header if at + header.size_bytes <= len(view) else None


def _with_epoch(epochs: Epochs, epoch: int, first: int) -> Epochs:
    """Batches of no epoch (-1: written by an old client) leave no trace."""
    return assign(epochs, epoch, first) if epoch >= 0 else epochs


def _records(header: BatchHeader, batch: memoryview, first: int, at: int) -> list[ConsumerRecord]:
    try:
        return [
            ConsumerRecord(record, header.leader_epoch, header.is_control)
            for record in records_of(header, batch)
            if record.offset >= first
        ]
    except DataError as error:
        raise error.shifted(at) from error
