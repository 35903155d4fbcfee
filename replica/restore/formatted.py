"""The voters of a new cluster: kafka-storage writes them into the checkpoint 0-0 when it formats a
controller's directory (KIP-853)."""

from __future__ import annotations

from replica.errors import CorruptDataError
from replica.format.control import ControlMessage, KRaftVersion, KRaftVoters, decode_control
from replica.format.record import records_of
from replica.format.segment import scan
from replica.format.snapshot_content import inspect


def voters_records(checkpoint: bytes) -> tuple[ControlMessage, ...]:
    """kraft.version and the voters, in their order; nothing of a cluster with static voters.

    checkpoint: the file's bytes. Raises DataError where they aren't a whole snapshot: a voter in
    the part that is missing or damaged would be missing in the new cluster.
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
