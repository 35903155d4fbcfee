"""Spark's aggregate functions, and some of its scalar ones, as plain Python; and SQL's three-valued
logic, in which None stands for a condition that may be true or false."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, TypeVar

from pipelines.cluster.rows import Row, nulls_first

_T = TypeVar("_T")


def largest(values: Iterable[_T | None]) -> _T | None:
    """Spark's max: the largest value that isn't None. None where there is no such value."""
    return max((v for v in values if v is not None), key=nulls_first, default=None)


def smallest(values: Iterable[_T | None]) -> _T | None:
    """Spark's min: the smallest value that isn't None. None where there is no such value."""
    return min((v for v in values if v is not None), key=nulls_first, default=None)


def distinct(values: Iterable[_T | None]) -> list[_T]:
    """array_sort(collect_set()): each value except None once, ascending."""
    return sorted({v for v in values if v is not None}, key=nulls_first)


def grouped(rows: Iterable[_T], key: Callable[[_T], Any]) -> dict[Any, list[_T]]:
    """The rows of each key, in their order. The keys are in the order of their first rows."""
    found: dict[Any, list[_T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def by_capture(snapshots: Iterable[Row]) -> dict[str, list[Row]]:
    """The snapshots that each capture held, by capture_id. snapshots: rows of bronze.snapshots."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in snapshots:
        for capture_id in row["captures"]:
            found[capture_id].append(row)
    return dict(found)


def hour_of(at: datetime | None) -> datetime | None:
    """The start of the hour of a time, which is in UTC. None for None."""
    return None if at is None else at.replace(minute=0, second=0, microsecond=0)


def rounded(value: float) -> int:
    """The nearest integer. A half is rounded away from zero, as in Spark's round()."""
    return int(Decimal(value).to_integral_value(rounding=ROUND_HALF_UP))


def are_equal(one: Any, other: Any) -> bool | None:
    """SQL's =: None where one of the two is None."""
    return None if one is None or other is None else bool(one == other)


def all_true(conditions: Iterable[bool | None]) -> bool | None:
    """SQL's AND: False where any condition is False, else None where any is None. True for no
    conditions."""
    found = set(conditions)
    return False if False in found else None if None in found else True


def any_true(conditions: Iterable[bool | None]) -> bool | None:
    """SQL's OR: True where any condition is True, else None where any is None. False for no
    conditions."""
    found = set(conditions)
    return True if True in found else None if None in found else False
