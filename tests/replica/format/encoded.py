"""Whole batches by the fields of their headers, also with values that Kafka never writes."""

from __future__ import annotations

from replica.format.batch import MAGIC, MIN_BATCH_LENGTH, BatchHeader, with_records


def encode_batch(
    *,
    base_offset: int,
    leader_epoch: int,
    records: bytes,
    record_count: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    attributes: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """A whole batch of encoded (and, by `attributes`, compressed) records, with its CRC."""
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=MIN_BATCH_LENGTH,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=record_count,
    )
    return with_records(header, records)
