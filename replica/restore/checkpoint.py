"""Records as the bytes of a checkpoint (KIP-630; Kafka: RecordsSnapshotWriter, BatchFileWriter).

A checkpoint has a control batch with the header, perhaps one with control records of the quorum,
batches of metadata records, and a control batch with the footer. Its offsets begin at 0, and its
epoch is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from replica.format.control import (
    ControlMessage,
    SnapshotFooter,
    SnapshotHeader,
)
from replica.format.whole_batch import control_batch, value_batch
from replica.metadata.record import MetadataRecord
from replica.metadata.writer import encode

_MOST_RECORDS = 500
_MOST_BYTES = 512 * 1024
"""The most bytes of one batch. Kafka writes batches of 8 MiB at most."""


def checkpoint(
    records: Iterable[MetadataRecord],
    timestamp_ms: int,
    control: Sequence[ControlMessage] = (),
) -> bytes:
    """The file's bytes. control: KRaftVersion and KRaftVoters, which stand between the header and
    the records."""
    offset = 0
    parts = []
    for messages in ([SnapshotHeader(0, timestamp_ms)], [*control]):
        if messages:
            parts.append(control_batch(offset, 0, timestamp_ms, messages))
            offset += len(messages)
    for values in _grouped(encode(record) for record in records):
        parts.append(value_batch(offset, 0, timestamp_ms, values))
        offset += len(values)
    parts.append(control_batch(offset, 0, timestamp_ms, [SnapshotFooter(0)]))
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
