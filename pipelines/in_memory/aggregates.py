"""What Spark's functions make of many values, or of one, as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from math import ceil
from typing import Any, TypeVar

import numpy as np

from pipelines.in_memory.batches import NO_TIME, Longs, Places
from pipelines.in_memory.rows import nulls_first
from replica.format.timestamps import moment

_T = TypeVar("_T")
_HOUR_US = 3_600_000_000


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


def percentile_of(ascending: Longs, part: float) -> int:
    """Spark's percentile_disc: the least value that this part of the values doesn't exceed.

    ascending: sorted, not empty. part: above 0, at most 1.
    """
    return int(ascending[ceil(part * len(ascending)) - 1])


def hour_of(at: datetime | None) -> datetime | None:
    """Start of the hour; at: in UTC."""
    return None if at is None else at.replace(minute=0, second=0, microsecond=0)


def hours_of(times: Longs) -> Iterator[tuple[datetime | None, Places]]:
    """Each hour, None where there is no time, with the indexes of its times; times: as in
    Batches."""
    hours = np.where(times == NO_TIME, NO_TIME, times // _HOUR_US)
    order = np.argsort(hours, kind="stable")
    bounds = (np.flatnonzero(hours[order][1:] != hours[order][:-1]) + 1).tolist()
    for start, end in pairwise([0, *bounds, len(order)] if len(order) else []):
        hour = int(hours[order[start]])
        yield None if hour == NO_TIME else moment(hour * _HOUR_US // 1000), order[start:end]


def rounded(value: float) -> int:
    """To the nearest integer, a half away from zero, as Spark's round()."""
    return int(Decimal(value).to_integral_value(rounding=ROUND_HALF_UP))
