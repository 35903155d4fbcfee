"""Kafka's times (int64 ms since 1970, UTC) as calendar times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NO_TIMESTAMP = -1
"""The number for no time in Kafka's batches (Kafka: RecordBatch.NO_TIMESTAMP)."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

FIRST_MS = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
LAST_MS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
"""FIRST_MS is the first ms of the year 1, and LAST_MS the last ms of the year 9999 (ms since 1970,
UTC). Python has no datetime before and after these years."""


def moment(timestamp: int | None) -> datetime | None:
    """The time in UTC; None for None, for NO_TIMESTAMP, and outside of the years 1 to 9999."""
    if timestamp is None or timestamp == NO_TIMESTAMP or not FIRST_MS <= timestamp <= LAST_MS:
        return None
    return _EPOCH + timestamp * _MILLISECOND
