"""Reads the voters of a new cluster, which kafka-storage writes into the checkpoint 0-0 when it
formats a controller's directory (KIP-853)."""

from __future__ import annotations

from replica.errors import CorruptDataError
from replica.format.control import ControlMessage, KRaftVersion, KRaftVoters, decode_control
from replica.format.record import records_of
from replica.format.segment import scan
from replica.format.snapshot_content import inspect


def voters_records(checkpoint: bytes) -> tuple[ControlMessage, ...]:
    """The records of kraft.version and of the voters, in the order of the file; none where the
    cluster has static voters.

    checkpoint: the file's bytes. Raises DataError where they aren't a whole snapshot: the new
    cluster would lack a voter that the missing or damaged part holds.
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
