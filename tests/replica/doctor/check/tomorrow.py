"""Recorded directories as a later Kafka would have written them: broker registrations, and changes
of them, have a version that this release doesn't know, in logs and snapshots alike."""

from __future__ import annotations

import shutil
from pathlib import Path

from replica.format.batch import HEADER
from replica.format.record import records_of
from replica.format.segment import scan
from replica.metadata.records import RECORDS_BY_NAME
from tests.replica.scan.damaging import with_right_crc

FIRST_OFFSET = 28
"""The offset of the first broker registration in the log, which is the end offset of the last known
state."""

_TYPES = ("REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD")
_ENVELOPES = {
    bytes([1, schema.api_key, schema.newest]): bytes([1, schema.api_key, schema.newest + 1])
    for schema in (RECORDS_BY_NAME[name] for name in _TYPES)
}
"""The first bytes of a value: frame version, api key, version."""


def write_tomorrow(source: Path, target: Path) -> None:
    """Copies a recorded folder of Kafka 4.4, with newer records in it. File sizes and positions are
    unchanged."""
    shutil.copytree(source, target)
    changed = 0
    for path in (*target.rglob("*.log"), *target.rglob("*.checkpoint")):
        whole = path.read_bytes()
        newer = b"".join(_newer(batch) for batch in _batches(whole))
        changed += newer != whole
        path.write_bytes(newer)
    assert changed


def _batches(whole: bytes) -> list[bytes]:
    found = scan(whole).batches
    assert sum(batch.header.size_bytes for batch in found) == len(whole)
    return [whole[b.position : b.position + b.header.size_bytes] for b in found]


def _newer(batch: bytes) -> bytes:
    header = scan(batch).batches[0].header
    if header.is_control:
        return batch
    for record in records_of(header, batch):
        value = record.value or b""
        envelope = _ENVELOPES.get(value[:3])
        if envelope is not None:
            at = batch.index(value, HEADER.size)
            batch = batch[:at] + envelope + batch[at + len(envelope) :]
    return with_right_crc(batch)
