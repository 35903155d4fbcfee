"""Finds the texts of a column that may be no JSON."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from replica.scan.columns import stored_bytes
from replica.scan.compiled import find_doubtful_texts
from replica.scan.readiness import expect
from replica.scan.tables import JSON_COLUMNS, JSON_DEPTH

SMALL_BYTES = 64 * 1024
"""The fewest bytes of a column for which the kernel is loaded."""


def doubtful_texts(column: pa.Array) -> list[int]:
    """The rows of a column of texts that may be no JSON. The text of every other row is JSON for
    certain, without an object that has a key twice, or there is no text."""
    valid = np.asarray(column.is_valid())
    if column.nbytes < SMALL_BYTES or not expect(column.nbytes):
        rows: list[int] = np.flatnonzero(valid).tolist()
        return rows
    data, offsets = stored_bytes(column.cast(pa.string()))
    doubtful = np.empty(len(column), np.int64)
    stack = np.empty(JSON_DEPTH * JSON_COLUMNS + 1, np.int64)
    present = valid.astype(np.uint8)
    count = find_doubtful_texts(data, offsets, present, 0, len(column), doubtful, stack)
    found: list[int] = doubtful[:count].tolist()
    return found
