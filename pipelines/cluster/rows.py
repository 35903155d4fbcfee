"""The type of tables' rows, their times, and their order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Row = dict[str, Any]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
MICROSECOND = timedelta(microseconds=1)


def of_cluster(rows: pa.Table, cluster_id: str) -> pa.Table:
    """The rows of the cluster with this id."""
    is_mine = pc.equal(rows["cluster_id"], cluster_id)
    return rows if pc.all(is_mine).as_py() else rows.filter(is_mine)


def milliseconds(at: datetime) -> int:
    """Whole ms since 1970 (UTC), rounded down, as in Spark's unix_millis."""
    return (at - EPOCH) // _MILLISECOND


def microseconds(at: datetime | None) -> int | None:
    """A time as whole microseconds since 1970 (UTC); None for None."""
    return None if at is None else (at - EPOCH) // MICROSECOND


def ms_between(start: datetime | None, end: datetime | None) -> int | None:
    """The milliseconds from one time to another. None where one of the times is unknown."""
    return None if start is None or end is None else milliseconds(end) - milliseconds(start)


def from_microseconds(at: int) -> datetime:
    """The time that is this number of microseconds after the epoch."""
    return EPOCH + at * MICROSECOND


def nulls_first(value: Any) -> tuple[Any, ...]:
    """A key that sorts values as Spark does: None before all others; structs (dicts, in the order
    of their fields) and arrays (lists) by their elements."""
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, tuple(nulls_first(part) for part in value.values()))
    if isinstance(value, list | tuple):
        return (1, tuple(nulls_first(part) for part in value))
    return (1, value)
