"""Records as the bytes of a checkpoint (KIP-630; Kafka: RecordsSnapshotWriter, BatchFileWriter),
and the voters in the checkpoint that kafka-storage writes when it formats a directory (KIP-853).

A checkpoint has a control batch with the header, perhaps one with control records of the quorum,
batches of metadata records, and a control batch with the footer. Its offsets begin at 0, and its
epoch is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from replica.errors import CorruptDataError
from replica.format.control import (
    ControlMessage,
    KRaftVersion,
    KRaftVoters,
    SnapshotFooter,
    SnapshotHeader,
    decode_control,
)
from replica.format.record import records_of
from replica.format.segment import scan
from replica.format.snapshot_content import inspect
from replica.format.whole_batch import control_batch, value_batch
from replica.metadata.codec import encode
from replica.metadata.record import MetadataRecord

_MOST_RECORDS = 500
_MOST_BYTES = 512 * 1024
"""The maximum size of a batch (bytes). Kafka writes batches of 8 MiB at most."""


def checkpoint(
    records: Iterable[MetadataRecord],
    timestamp_ms: int,
    control: Sequence[ControlMessage] = (),
) -> bytes:
    """The bytes of a checkpoint. timestamp_ms: the time of all its records, in ms since 1970 (UTC).
    control: KRaftVersion and KRaftVoters, which stand between the header and the records."""
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


def voters_records(checkpoint: bytes) -> tuple[ControlMessage, ...]:
    """The records of kraft.version and of the voters, in the order of the file; none if the cluster
    has static voters.

    checkpoint: the file's bytes. Raises DataError if the snapshot is incomplete or damaged: the new
    cluster could lack a voter.
    """
    found = scan(checkpoint, expected_offset=0)
    for damage in found.damages:
        raise CorruptDataError(damage.detail, damage.position)
    content = inspect(checkpoint, found)
    if not (content.has_header and content.has_footer):
        missing = "footer" if content.has_header else "header"
        raise CorruptDataError(f"a snapshot without its {missing}", found.end_position)
    messages = (
        decode_control(record.key, record.value)
        for batch in found.batches
        if batch.header.is_control
        for record in records_of(
            batch.header,
            checkpoint[batch.position : batch.position + batch.header.size_bytes],
        )
    )
    return tuple(one for one in messages if isinstance(one, KRaftVersion | KRaftVoters))
