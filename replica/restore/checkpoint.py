"""Records as the bytes of a checkpoint (KIP-630; Kafka: RecordsSnapshotWriter, BatchFileWriter).

A control batch with the header, control records of the quorum where there are some, batches of
metadata records, and a control batch with the footer; offsets from 0, epoch 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from replica.format.batch import CONTROL_ATTRIBUTE, encode_batch
from replica.format.control import (
    ControlMessage,
    SnapshotFooter,
    SnapshotHeader,
    encode_control,
)
from replica.format.record import Record, encode_records
from replica.metadata.record import MetadataRecord
from replica.metadata.writer import encode

_MOST_RECORDS = 500
_MOST_BYTES = 512 * 1024
"""Of one batch. Kafka writes batches of 8 MiB at most."""


def checkpoint(
    records: Iterable[MetadataRecord],
    timestamp_ms: int,
    control: Sequence[ControlMessage] = (),
) -> bytes:
    """The file's bytes. control: what stands between the header and the records, KRaftVersion and
    KRaftVoters."""
    offset = 0
    parts = []
    for messages in ([SnapshotHeader(0, timestamp_ms)], [*control]):
        if messages:
            parts.append(_control_batch(messages, offset, timestamp_ms))
            offset += len(messages)
    for values in _grouped(encode(record) for record in records):
        entries = [Record(offset + i, timestamp_ms, None, v) for i, v in enumerate(values)]
        parts.append(_batch(entries))
        offset += len(values)
    parts.append(_control_batch([SnapshotFooter(0)], offset, timestamp_ms))
    return b"".join(parts)


def _grouped(values: Iterable[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    size = 0
    for value in values:
        if group and (len(group) == _MOST_RECORDS or size + len(value) > _MOST_BYTES):
            yield group
            group, size = [], 0
        group.append(value)
        size += len(value)
    if group:
        yield group


def _control_batch(messages: Sequence[ControlMessage], offset: int, timestamp_ms: int) -> bytes:
    entries = [
        Record(offset + i, timestamp_ms, *encode_control(message))
        for i, message in enumerate(messages)
    ]
    return _batch(entries, CONTROL_ATTRIBUTE)


def _batch(entries: Sequence[Record], attributes: int = 0) -> bytes:
    first = entries[0]
    return encode_batch(
        base_offset=first.offset,
        leader_epoch=0,
        records=encode_records(entries, first.offset, first.timestamp),
        record_count=len(entries),
        last_offset_delta=len(entries) - 1,
        base_timestamp=first.timestamp,
        max_timestamp=first.timestamp,
        attributes=attributes,
    )
