"""Makes batches of the records that an administrator gives."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from replica.errors import UsageError
from replica.format.record import Record, RecordHeader
from replica.format.whole_batch import record_batch

_FIELDS = frozenset(("key", "value", "headers"))
_IGNORED = frozenset(("offset", "epoch", "timestamp"))
"""Fields that `kraftlake consume --json` prints. They are ignored here, because the leader sets
them again."""


def record_of_value(value: bytes) -> Record:
    """A record without a key. batch_of sets its offset and time."""
    return Record(0, 0, None, value)


def record_of_json(line: bytes) -> Record:
    """The record that a JSON object describes. The object's keys are `key`, `value` and `headers`,
    a list of [name, value]. Each key may be missing. A key or value of the record is a text, null,
    or {"base64": text}.

    Raises UsageError, which says what is wrong with the line.
    """
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError("not an object with key, value and headers")
    unknown = found.keys() - _FIELDS - _IGNORED
    if unknown:
        names = ", ".join(map(json.dumps, sorted(unknown)))  # a name may hold a line break
        raise UsageError(f"{names}: expected key, value and headers alone")
    headers = found.get("headers") or []
    if not isinstance(headers, list):
        raise UsageError("headers: expected [[name, value], ...]")
    return Record(
        0,
        0,
        _bytes("key", found.get("key")),
        _bytes("value", found.get("value")),
        tuple(_header(each) for each in headers),
    )


def batch_of(records: Sequence[Record], timestamp: int) -> bytes:
    """One uncompressed batch of the records, with the base offset 0; the leader sets the real
    offset. timestamp: the time of all records, in ms since 1970 (UTC)."""
    placed = [
        Record(offset, timestamp, record.key, record.value, record.headers)
        for offset, record in enumerate(records)
    ]
    return record_batch(0, -1, timestamp, placed)


def _header(found: Any) -> RecordHeader:
    if not (isinstance(found, list) and len(found) == 2 and isinstance(found[0], str)):
        raise UsageError("headers: expected [[name, value], ...]")
    if any("\ud800" <= char <= "\udfff" for char in found[0]):
        raise UsageError("headers: a name that is no UTF-8")
    return RecordHeader(found[0], _bytes(f"header {json.dumps(found[0])}", found[1]))


def _bytes(name: str, found: Any) -> bytes | None:
    if found is None or isinstance(found, str):
        return None if found is None else found.encode("utf-8", "surrogatepass")
    if isinstance(found, dict) and found.keys() == {"base64"}:
        try:
            return base64.b64decode(found["base64"], validate=True)
        except (TypeError, ValueError, binascii.Error) as error:
            raise UsageError(f"{name}: base64: {error}") from error
    raise UsageError(f'{name}: expected text, null or {{"base64": "..."}}')
