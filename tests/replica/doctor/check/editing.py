"""Changes of copies of recorded directories: bytes, batches, small files."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

from replica.doctor.check.examined import examine
from replica.doctor.check.group import JudgedGroup, judge_group
from replica.doctor.check.rule import Finding
from replica.format.batch import CONTROL_ATTRIBUTE
from replica.format.control import LeaderChange, LeaderVoter, encode_control
from replica.format.discovery import discover
from replica.format.record import Record, encode_records, records_of
from replica.format.segment import scan
from replica.format.walk import LocatedBatch
from replica.message.primitives import uuid_bytes
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.severity import Severity
from tests.replica.format.encoded import encode_batch
from tests.replica.scan.damaging import with_right_crc

FOLDER = "__cluster_metadata-0"
EPOCH_BYTE = 12

Place = tuple[str, str, int | None]
"""(rule, file's name, byte) of a finding."""


def judged(*nodes: Path, newest: bool = False) -> JudgedGroup:
    """The judgement of the nodes together. newest: whether to judge the newest state of each
    cluster."""
    found = discover([str(node) for node in nodes])
    return judge_group([examine(each) for each in found], newest=newest)


def findings(node: Path) -> tuple[Finding, ...]:
    (member,) = judged(node).members
    return member.findings


def places(found: tuple[Finding, ...], *, info: bool = False) -> list[Place]:
    told = (
        (finding.rule.id, finding.file.rsplit("/", 1)[-1], finding.position)
        for finding in found
        if info or finding.severity is not Severity.INFO
    )
    return sorted(told, key=str)


def file(node: Path, name: str) -> Path:
    return node / FOLDER / name


def segment(node: Path, base_offset: int) -> Path:
    return file(node, f"{base_offset:020d}.log")


def snapshot(node: Path, offset: int, epoch: int) -> Path:
    return file(node, f"{offset:020d}-{epoch:010d}.checkpoint")


def batches(path: Path) -> tuple[LocatedBatch, ...]:
    return scan(path.read_bytes()).batches


def data_batch(path: Path, number: int = 5) -> LocatedBatch:
    """The batch with this number among the batches of one record that are no control batches."""
    plain = [b for b in batches(path) if not b.header.is_control and b.header.record_count == 1]
    return plain[number]


def control_batch(path: Path) -> LocatedBatch:
    return next(b for b in batches(path) if b.header.is_control)


def batch_at(path: Path, offset: int) -> LocatedBatch:
    return next(b for b in batches(path) if b.header.base_offset == offset)


def overwrite(path: Path, position: int, data: bytes) -> None:
    raw = bytearray(path.read_bytes())
    raw[position : position + len(data)] = data
    path.write_bytes(raw)


def flip(path: Path, position: int) -> None:
    overwrite(path, position, bytes([path.read_bytes()[position] ^ 0xFF]))


def set_epoch(path: Path, batch: LocatedBatch, epoch: int) -> None:
    """Changes the epoch. The CRC doesn't cover the epoch, so it stays right."""
    overwrite(path, batch.position + EPOCH_BYTE, struct.pack(">i", epoch))


def set_value(
    path: Path, batch: LocatedBatch, value: Callable[[bytes], bytes], index: int = -1
) -> None:
    """Changes the value of a batch's record, by default the last one, and corrects
    lengths and CRC."""
    raw = path.read_bytes()
    header = batch.header
    end = batch.position + header.size_bytes
    records = list(records_of(header, raw[batch.position : end]))
    old = records[index]
    changed = Record(old.offset, old.timestamp, old.key, value(old.value or b""))
    records[index] = changed
    whole = encode_batch(
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        records=encode_records(records, header.base_offset, header.base_timestamp),
        record_count=header.record_count,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
        attributes=header.attributes,
    )
    path.write_bytes(raw[: batch.position] + with_right_crc(whole) + raw[end:])


def append(
    path: Path, *values: bytes, key: bytes | None = None, epoch: int = -1, later_ms: int = 0
) -> int:
    """Adds a batch after the last batch, and gives its byte. Epoch and time are by default those of
    the last batch."""
    raw = path.read_bytes()
    found = scan(raw)
    last = found.batches[-1].header
    offset, time = last.next_offset, last.max_timestamp + later_ms
    records = [Record(offset + i, time, key, value) for i, value in enumerate(values)]
    whole = encode_batch(
        base_offset=offset,
        leader_epoch=last.leader_epoch if epoch < 0 else epoch,
        records=encode_records(records, offset, time),
        record_count=len(records),
        last_offset_delta=len(records) - 1,
        base_timestamp=time,
        max_timestamp=time,
        attributes=CONTROL_ATTRIBUTE if key else 0,
    )
    path.write_bytes(raw[: found.end_position] + whole)
    return found.end_position


def append_leader_change(path: Path, epoch: int, leader: int) -> int:
    voters = tuple(LeaderVoter(voter) for voter in (1, 2, 3))
    key, value = encode_control(LeaderChange(0, leader, voters, voters))
    return append(path, value, key=key, epoch=epoch)


def rename_initial_voter(node: Path, directory_id: str, other: str) -> None:
    """Gives a voter in the node's 0-0.checkpoint another directory id."""
    path = snapshot(node, 0, 0)
    raw, old, new = path.read_bytes(), uuid_bytes(directory_id), uuid_bytes(other)
    (batch,) = (b for b in batches(path) if old in raw[b.position : _end(b)])
    changed = with_right_crc(raw[batch.position : _end(batch)].replace(old, new))
    path.write_bytes(raw[: batch.position] + changed + raw[_end(batch) :])


def _end(batch: LocatedBatch) -> int:
    return batch.position + batch.header.size_bytes


def metadata(record_type: str, /, **fields: object) -> bytes:
    return encode(new_record(record_type, 0, fields))  # type: ignore[arg-type]


def edit_quorum_state(node: Path, **fields: object) -> None:
    path = file(node, "quorum-state")
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def edit_text(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, (old, text)
    path.write_text(text.replace(old, new))
