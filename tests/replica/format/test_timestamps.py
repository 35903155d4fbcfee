"""Timestamps as calendar times, and those that no calendar has."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from replica.format.timestamps import FIRST_MS, LAST_MS, moment
from replica.scan.columns import microseconds


def test_times_are_utc_and_keep_their_ms() -> None:
    assert moment(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert moment(1_700_000_000_001) == datetime(2023, 11, 14, 22, 13, 20, 1000, tzinfo=UTC)
    assert moment(FIRST_MS) == datetime(1, 1, 1, tzinfo=UTC)
    assert moment(LAST_MS) == datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)


@pytest.mark.parametrize("timestamp", [None, -1, FIRST_MS - 1, LAST_MS + 1, -(1 << 63), 1 << 62])
def test_a_timestamp_outside_of_the_calendar_is_none(timestamp: int | None) -> None:
    assert moment(timestamp) is None


def test_columns_have_the_same_times() -> None:
    edges = [None, -1, 0, FIRST_MS - 1, FIRST_MS, LAST_MS, LAST_MS + 1, -(1 << 63), 1 << 62]
    cells = microseconds(pa.array(edges, pa.int64())).to_pylist()
    assert cells == [moment(edge) for edge in edges]
