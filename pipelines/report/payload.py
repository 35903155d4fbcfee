"""A record's payload as `kraftlake dump` prints it: Kafka's JSON, with fields in Kafka's order.

A VARIANT sorts its fields by name, so the order comes from the record's schema.
"""

from __future__ import annotations

import json
from typing import Any

from replica.errors import DataError
from replica.metadata.json_text import from_plain, json_text

_FIRST = ("version", "leaderId", "voters", "voterId", "voterDirectoryId", "name", "host", "port")
"""The order of control records' fields (KIP-595, KIP-853)."""


def kafka_json(record_type: str, version: int | None, payload: Any) -> str:
    """The payload as text. Redacted values stay redacted. A record of an unknown type or version
    has its fields in the VARIANT's order."""
    if isinstance(payload, dict) and version is not None:
        try:
            return json_text(from_plain(record_type, version, payload))
        except DataError:
            payload = _control(payload)
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def _control(value: Any) -> Any:
    if isinstance(value, list):
        return [_control(one) for one in value]
    if not isinstance(value, dict):
        return value
    names = sorted(value, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    return {name: _control(value[name]) for name in names}
