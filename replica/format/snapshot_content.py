"""A snapshot's delimiters: its first record is a header, its last record a footer (KIP-630)."""

from __future__ import annotations

from dataclasses import dataclass

from replica.errors import DataError
from replica.format.byte_source import Source
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.control import ControlMessage, SnapshotFooter, SnapshotHeader, decode_control
from replica.format.segment import SegmentScan
from replica.format.walk import LocatedBatch


@dataclass(frozen=True, slots=True)
class SnapshotContent:
    """The content of the first and the last control record of a snapshot."""

    has_header: bool
    has_footer: bool
    last_contained_log_timestamp: int | None
    """The time of the last log record that the snapshot contains, in ms since 1970 (UTC); None if
    there is no header."""
    record_count: int


def inspect(data: Source, scan: SegmentScan) -> SnapshotContent:
    """Read the first and the last control record of a scanned snapshot."""
    content = FileContent(data)
    messages = [
        _control_messages(content, batch) for batch in (*scan.batches[:1], *scan.batches[-1:])
    ]
    first = messages[0][0] if messages and messages[0] else None
    last = messages[-1][-1] if messages and messages[-1] else None
    header = first if isinstance(first, SnapshotHeader) else None
    return SnapshotContent(
        header is not None,
        isinstance(last, SnapshotFooter),
        None if header is None else header.last_contained_log_timestamp,
        sum(batch.header.record_count for batch in scan.batches),
    )


def _control_messages(content: FileContent, batch: LocatedBatch) -> list[ControlMessage]:
    """The control records of a batch before the first record that can't be decoded."""
    if not batch.header.is_control or not batch.crc_valid:
        return []
    messages: list[ControlMessage] = []
    try:
        for record in content.records(batch, Inflation(content.size)):
            messages.append(decode_control(record.key, record.value))
    except DataError:
        return messages
    return messages
