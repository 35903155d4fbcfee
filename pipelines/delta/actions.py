"""Delta's statistics of a data file's rows, for the commit that adds the file.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md: "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from pyspark.sql.types import DataType, StructType

from pipelines.data_files import Bound, DataFile

_BOUNDED_TYPES = ("byte", "short", "integer", "long", "string", "timestamp")
"""Names of the types, as pyspark and Delta's schemas have them."""
_INDEXED = 32
"""How many columns get statistics by Delta's default."""
_TEXT_LENGTH = 32
"""How many characters of a text's bounds Delta keeps."""
_LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class StatisticsColumns:
    """bounded: the columns with least and greatest value. counted: those with a count of NULLs."""

    bounded: frozenset[str]
    counted: frozenset[str]

    @staticmethod
    def of_contract(schema: StructType) -> StatisticsColumns:
        """Delta's default: the first 32 columns, where each column inside of a struct counts.
        Fields inside of structs are left out."""
        fields = [
            f for f, begin in zip(schema.fields, _begins(schema), strict=True) if begin < _INDEXED
        ]
        return StatisticsColumns(
            frozenset(f.name for f in fields if f.dataType.typeName() in _BOUNDED_TYPES),
            frozenset(f.name for f in fields if not isinstance(f.dataType, StructType)),
        )


def _begins(schema: StructType) -> Iterator[int]:
    """For each column how many columns come before it, with those inside of structs."""
    return accumulate((_leaves(field.dataType) for field in schema.fields[:-1]), initial=0)


def _leaves(kind: DataType) -> int:
    if not isinstance(kind, StructType):
        return 1
    return sum(_leaves(field.dataType) for field in kind.fields)


def statistics(file: DataFile, columns: StatisticsColumns) -> dict[str, Any]:
    """The statistics of a file without deleted rows. Bounds are exact; texts and times are cut as
    Delta cuts them."""
    bounds = {name: both for name, both in file.bounds.items() if name in columns.bounded}
    largest = {name: _largest(high) for name, (_, high) in bounds.items()}
    return {
        "numRecords": file.row_count,
        "minValues": {name: _least(low) for name, (low, _) in bounds.items()},
        "maxValues": {name: high for name, high in largest.items() if high is not None},
        "nullCount": {n: count for n, count in file.null_counts.items() if n in columns.counted},
    }


def _least(value: Bound) -> int | str:
    return value[:_TEXT_LENGTH] if isinstance(value, str) else _scalar(value)


def _largest(value: Bound) -> int | str | None:
    """A cut text that is not less than the whole text; None where no such text exists."""
    if not isinstance(value, str) or len(value) <= _TEXT_LENGTH:
        return _scalar(value)
    if value[_TEXT_LENGTH] == _LAST_CHARACTER:
        return None
    return value[:_TEXT_LENGTH] + _LAST_CHARACTER


def _scalar(value: Bound) -> int | str:
    """The value in Delta's form. Times are cut to ms: a reader adds a ms to the greatest time."""
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
