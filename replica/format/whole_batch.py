"""Makes whole batches of records, and reads the control messages of a batch (Kafka:
MemoryRecordsBuilder).

All records of a batch have the same time, and their offsets have no gaps.
"""

from __future__ import annotations

from collections.abc import Sequence

from replica.format import control
from replica.format.batch import (
    CONTROL_ATTRIBUTE,
    MAGIC,
    MIN_BATCH_LENGTH,
    BatchHeader,
    decode_header,
    with_records,
)
from replica.format.record import Record, encode_records, encode_values, records_of
from replica.message.primitives import Buffer


def control_batch(
    base_offset: int, epoch: int, timestamp: int, messages: Sequence[control.ControlMessage]
) -> bytes:
    """A control batch with one offset for each message. timestamp: in ms since 1970 (UTC)."""
    records = [
        Record(base_offset + index, timestamp, *control.encode_control(message))
        for index, message in enumerate(messages)
    ]
    return record_batch(base_offset, epoch, timestamp, records, CONTROL_ATTRIBUTE)


def value_batch(base_offset: int, epoch: int, timestamp: int, values: Sequence[bytes]) -> bytes:
    """A batch of records without keys, with one offset for each value. timestamp: in ms since 1970
    (UTC)."""
    encoded = encode_values(values)
    return _batch(base_offset, epoch, timestamp, len(values), encoded, attributes=0)


def record_batch(
    base_offset: int,
    epoch: int,
    timestamp: int,
    records: Sequence[Record],
    attributes: int = 0,
) -> bytes:
    """A batch of records with offsets from `base_offset` on. timestamp: the time of all records, in
    ms since 1970 (UTC)."""
    encoded = encode_records(records, base_offset, timestamp)
    return _batch(base_offset, epoch, timestamp, len(records), encoded, attributes)


def _batch(
    base_offset: int, epoch: int, timestamp: int, count: int, encoded: bytes, attributes: int
) -> bytes:
    """A batch of `count` encoded records."""
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=MIN_BATCH_LENGTH,
        leader_epoch=epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=count - 1,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=count,
    )
    return with_records(header, encoded)


def messages_in(batch: Buffer) -> tuple[control.ControlMessage, ...]:
    """The control messages of a whole control batch. Raises DataError with the byte in the
    batch."""
    header = decode_header(batch)
    return tuple(
        control.decode_control(record.key, record.value) for record in records_of(header, batch)
    )
