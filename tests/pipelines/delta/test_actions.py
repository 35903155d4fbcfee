"""What a commit says of a file is never less than what the file holds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from pipelines.delta.committing import StatisticsColumns, statistics
from pipelines.new_file import Bound, NewFile

COLUMNS = StatisticsColumns(frozenset({"a", "b"}), frozenset({"a", "b", "payload"}))


def file(**bounds: tuple[Bound, Bound]) -> NewFile:
    return NewFile("part-1.parquet", 10, 99, 3, {"a": 0, "payload": 2, "secret": 1}, bounds)


def test_a_file_is_told_as_delta_s_protocol_wants_it() -> None:
    assert statistics(file(a=(1, 2)), COLUMNS) == {
        "numRecords": 3,
        "minValues": {"a": 1},
        "maxValues": {"a": 2},
        "nullCount": {"a": 0, "payload": 2},
    }


def test_a_column_that_the_table_keeps_no_statistics_of_is_left_out() -> None:
    assert statistics(file(c=(1, 2)), COLUMNS)["minValues"] == {}


def test_times_are_cut_to_milliseconds() -> None:
    low, high = (datetime(2026, 1, 2, 3, 4, 5, us, tzinfo=UTC) for us in (1999, 999_999))
    found = statistics(file(a=(low, high)), COLUMNS)
    assert found["minValues"] == {"a": "2026-01-02T03:04:05.001Z"}
    assert found["maxValues"] == {"a": "2026-01-02T03:04:05.999Z"}


@pytest.mark.parametrize(
    ("text", "largest"),
    [("x" * 32, "x" * 32), ("x" * 33, "x" * 32 + "\U0010ffff"), ("\U0010ffff" * 33, None)],
)
def test_long_texts_are_cut_and_the_largest_stays_the_largest(
    text: str, largest: str | None
) -> None:
    found = statistics(file(a=(text, text)), COLUMNS)
    assert found["minValues"] == {"a": text[:32]}
    assert found["maxValues"] == ({} if largest is None else {"a": largest})


@given(st.text(max_size=40))
def test_bounds_of_a_text_hold_it_in_the_order_of_its_bytes(text: str) -> None:
    found = statistics(file(a=(text, text)), COLUMNS)
    assert found["minValues"]["a"].encode() <= text.encode()
    assert found["maxValues"].get("a", text).encode() >= text.encode()


def test_the_columns_of_statistics_are_delta_s_first_ones() -> None:
    """Delta counts the first 32, those inside of structs one by one; bounds are of few types."""
    inner = StructType([StructField("x", LongType()), StructField("y", LongType())])
    many = [StructField(f"c{number}", LongType()) for number in range(29)]
    first = [StructField("s", inner), StructField("b", BinaryType())]
    schema = StructType([*first, *many, StructField("last", LongType())])
    found = StatisticsColumns.of_contract(schema)
    counted = {"b", *(f"c{number}" for number in range(29))}
    assert found == StatisticsColumns(frozenset(counted - {"b"}), frozenset(counted))
