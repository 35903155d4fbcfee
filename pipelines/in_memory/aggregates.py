"""What Spark's functions make of many values, or of one, as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from math import ceil
from typing import Any, TypeVar

from pipelines.in_memory.rows import nulls_first

_T = TypeVar("_T")


def largest(values: Iterable[_T | None]) -> _T | None:
    """Spark's max: None is passed over; None where nothing else is there."""
    return max((v for v in values if v is not None), key=nulls_first, default=None)


def smallest(values: Iterable[_T | None]) -> _T | None:
    """Spark's min: None is passed over; None where nothing else is there."""
    return min((v for v in values if v is not None), key=nulls_first, default=None)


def distinct(values: Iterable[_T | None]) -> list[_T]:
    """array_sort(collect_set()): each value but None once, ascending."""
    return sorted({v for v in values if v is not None}, key=nulls_first)


def grouped(rows: Iterable[_T], key: Callable[[_T], Any]) -> dict[Any, list[_T]]:
    """The rows of each key, in their order; the keys in the order of their first rows."""
    found: dict[Any, list[_T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def percentile_of(ascending: Sequence[int], part: float) -> int:
    """Spark's percentile_disc: the least value that this part of the values doesn't exceed.

    ascending: sorted, not empty. part: above 0, at most 1.
    """
    return ascending[ceil(part * len(ascending)) - 1]


def hour_of(at: datetime | None) -> datetime | None:
    """Start of the hour; at: in UTC."""
    return None if at is None else at.replace(minute=0, second=0, microsecond=0)


def rounded(value: float) -> int:
    """To the nearest integer, a half away from zero, as Spark's round()."""
    return int(Decimal(value).to_integral_value(rounding=ROUND_HALF_UP))
