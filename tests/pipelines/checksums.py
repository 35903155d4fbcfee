"""A checksum of all rows of an Arrow table, which doesn't depend on their order or their reader."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa


def checksum(table: pa.Table) -> tuple[int, int]:
    """(number of rows, sum of their hashes). Times count as moments, maps as sorted pairs."""
    total = 0
    for row in table.to_pylist():
        text = repr({name: _plain(value) for name, value in sorted(row.items())})
        total += int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
    return table.num_rows, total % 2**64


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        pairs = all(isinstance(item, tuple) for item in value)
        return [_plain(item) for item in (sorted(value) if pairs else value)]
    return value
