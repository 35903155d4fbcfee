"""Rows of bronze.log_batches made by hand, as the columns that a build reads."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from pipelines.cluster.batches import COLUMNS, Batches
from pipelines.tables.bronze import LOG_BATCHES

Row = dict[str, Any]

ALWAYS = [{"from": datetime(1970, 1, 1, tzinfo=UTC), "to": None}]
_USUAL: Row = {
    **{"record_count": 1, "size_bytes": 90, "position": 0, "crc_valid": True, "file": "0.log"},
    "is_control": False,
    **{"max_timestamp": None, "last_seen": None, "truncated_at": None, "in_log": ALWAYS},
}


def log_batches(rows: Iterable[Row] = ()) -> pa.Table:
    """Rows of bronze.log_batches. Columns that a row lacks get usual values."""
    return pa.Table.from_pylist([{**_USUAL, **row} for row in rows], LOG_BATCHES.arrow_schema)


def batches(rows: Iterable[Row] = ()) -> Batches:
    """The rows as Batches."""
    return Batches.of(log_batches(rows).select(COLUMNS))
