"""Turns columns of Spark's VARIANT into JSON text, for programs that don't know VARIANT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from replica.metadata.variant_reader import variant_json
from replica.scan.columns import ColumnPieces, bitmap, stored_bytes
from replica.scan.compiled import write_variant_texts
from replica.scan.native import Longs
from replica.scan.readiness import expect
from replica.scan.tables import VARIANT_COLUMNS, VARIANT_DEPTH

OUTPUT_BYTES = 8 * 1024 * 1024
"""The most bytes of JSON that the kernel writes at a time. The scalar reader reads a VARIANT whose
text might be longer."""


def is_variant(kind: pa.DataType) -> bool:
    """Whether a column of this type is a VARIANT: struct<metadata, value>, in either order."""
    return pa.types.is_struct(kind) and {field.name for field in kind} == {"metadata", "value"}


def variant_texts(column: pa.StructArray | pa.ChunkedArray) -> pa.StringArray:
    """The JSON text of each VARIANT, without spaces; NULL for a NULL in the column.

    Raises CorruptDataError for damaged bytes.
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    pieces = [piece for chunk in chunks for piece in _texts(chunk)]
    return pa.concat_arrays(pieces) if pieces else pa.array([], pa.string())


def _refuse_all(valid: Any, offsets: Longs, refused: Longs) -> int:
    """Leave all rows to the scalar reader. Returns the row behind the last row."""
    rows = np.flatnonzero(valid)
    offsets[:], refused[0], refused[1 : 1 + rows.size] = 0, rows.size, rows
    return len(valid)


def _texts(column: pa.StructArray) -> list[pa.StringArray]:
    count = len(column)
    values, names = (column.field(name).cast(pa.binary()) for name in ("value", "metadata"))
    value_bytes, value_offsets = stored_bytes(values)
    name_bytes, name_offsets = stored_bytes(names)
    valid = np.asarray(column.is_valid())
    present = valid.astype(np.uint8)
    output = np.empty(OUTPUT_BYTES, np.uint8)
    offsets, refused = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    stack = np.empty(VARIANT_DEPTH * VARIANT_COLUMNS, np.int64)
    found: list[pa.StringArray] = []
    low = 0
    by_kernel = expect(value_bytes.size)
    while low < count:
        if by_kernel:
            high = write_variant_texts(
                value_bytes, value_offsets, name_bytes, name_offsets, present,
                low, count, output, offsets, refused, stack,
            )  # fmt: skip
        else:
            high = _refuse_all(valid, offsets, refused)
        pieces = ColumnPieces(output, offsets[: high - low + 1])
        for row in refused[1 : 1 + refused[0]].tolist():
            text = variant_json(values[low + row].as_py(), names[low + row].as_py())
            pieces.put(row, text.encode())
        found.append(pieces.array(pa.string(), bitmap(valid[low:high])))
        low = high
    return found
