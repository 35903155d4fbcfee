"""A recorded node whose log grows, as the log of a running node does during an ingest."""

from __future__ import annotations

import shutil
from pathlib import Path

from replica.format.batch import HEADER
from replica.format.file_names import METADATA_FOLDER
from replica.format.record import Record, encode_records
from replica.format.segment import scan
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from tests.replica.format.encoded import encode_batch

_RECORDS_OF_A_BATCH = 10_000


def last_segment(node: Path) -> Path:
    """The active segment of a node's log directory."""
    return max((node / METADATA_FOLDER).glob("*.log"))


def large_node(data: Path, node: Path, size: int) -> Path:
    """A copy of a recorded node whose active segment is extended by about `size` bytes."""
    shutil.copytree(data / "kafka-3.7.2-static/final/1", node)
    grow(node, size)
    return node


def grow(node: Path, size: int) -> int:
    """Appends sound batches of about `size` bytes in all, in the last epoch. Gives the number of
    records."""
    log = last_segment(node)
    content = log.read_bytes()
    found = scan(content, expected_offset=int(log.stem))
    last = found.batches[-1].header
    single = (b for b in found.batches if not b.header.is_control and b.header.record_count == 1)
    batch = next(single)
    end = batch.position + batch.header.size_bytes
    records = content[batch.position + HEADER.size : end]
    offset = last.next_offset
    with log.open("ab") as out:
        stop = out.tell() + size
        while out.tell() < stop:
            new = encode_batch(
                base_offset=offset,
                leader_epoch=last.leader_epoch,
                records=records,
                record_count=1,
                last_offset_delta=0,
                base_timestamp=last.max_timestamp,
                max_timestamp=last.max_timestamp,
            )
            out.write(new)
            offset += 1
    return offset - last.next_offset


def grow_idle(node: Path, count: int) -> None:
    """Appends `count` NoOpRecords, which change no state, in large batches of the last epoch."""
    log = last_segment(node)
    last = scan(log.read_bytes(), expected_offset=int(log.stem)).batches[-1].header
    value = encode(new_record("NO_OP_RECORD", 0, {}))
    at, end = last.max_timestamp, last.next_offset + count
    with log.open("ab") as out:
        for base in range(last.next_offset, end, _RECORDS_OF_A_BATCH):
            offsets = range(base, min(base + _RECORDS_OF_A_BATCH, end))
            records = (Record(offset, at, None, value) for offset in offsets)
            new = encode_batch(
                base_offset=base,
                leader_epoch=last.leader_epoch,
                records=encode_records(records, base, at),
                record_count=len(offsets),
                last_offset_delta=len(offsets) - 1,
                base_timestamp=at,
                max_timestamp=at,
            )
            out.write(new)
