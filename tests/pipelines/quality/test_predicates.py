"""Conditions that are functions: which values satisfy them."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.quality.predicates import epochs_ascend, is_json_or_null, voters_once
from pipelines.quality.suites import SUITES

_Entry = tuple[int | None, int | None]
"""An epoch and its start_offset."""
_ASCENDING: list[list[_Entry | None] | None] = [
    None,
    [],
    [(1, 0)],
    [(1, None)],
    [None],
    [(1, 0), (2, 0)],
    [(1, 0), (2, 5), (3, 5)],
]
_NOT_ASCENDING: list[list[_Entry | None]] = [
    [(1, 0), (1, 5)],
    [(1, 5), (2, 4)],
    [(1, 0), (None, 5)],
    [(1, None), (2, 5)],
    [(1, 0), None],
    [(1, 0), (3, 5), (2, 6)],
]
_TEXTS = [
    None,
    "",
    " ",
    "{}",
    "[]",
    "null",
    "1",
    '"a"',
    "{",
    '{"a":1} ',
    "\ufeff1",
    "/**/1",
    '{"a":1,"a":2}',
    '{"a":{"b":1,"b":1}}',
    '{"a":1,}',
    "[1,]",
    "{a:1}",
    "'a'",
    "tru",
    "NaN",
    "Infinity",
    "-Infinity",
    "nan",
    "01",
    "+1",
    "1.",
    ".5",
    "1e5",
    "-0",
    "1e400",
    '"\t"',
    '"\x00"',
    '"\\x"',
    '"\\u00e9"',
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '{"\\uDC00":1}',
    "9" * 40,
    "1" * 1000,
    "1" * 1001,
    "1" * 5000,
    "[" * 400 + "]" * 400,
    "1" + "e1" * 2,
]
_BEHIND = ["1 2", "{} x", "{}}"]
"""Text behind JSON, of which Spark takes no notice."""


def _entries(values: list[_Entry | None] | None) -> list[dict[str, Any] | None] | None:
    if values is None:
        return None
    names = ("epoch", "start_offset")
    return [None if one is None else dict(zip(names, one, strict=True)) for one in values]


@pytest.mark.parametrize("values", _ASCENDING)
def test_epochs_ascend_where_each_is_larger_and_starts_no_earlier(
    values: list[_Entry | None] | None,
) -> None:
    assert epochs_ascend(_entries(values))


@pytest.mark.parametrize("values", _NOT_ASCENDING)
def test_epochs_that_go_back_or_lack_a_value_do_not_ascend(values: list[_Entry | None]) -> None:
    assert not epochs_ascend(_entries(values))


def test_the_same_id_in_two_directories_is_two_voters() -> None:
    assert voters_once([{"voter_id": 1, "directory_id": name} for name in ("d", "e")])
    assert not voters_once([{"voter_id": 1, "directory_id": None}] * 2)
    assert not voters_once([])
    assert not voters_once(None)
    assert voters_once([None])
    assert not voters_once([None, {"voter_id": None, "directory_id": None}])


@pytest.mark.parametrize("text", _BEHIND)
def test_text_behind_json_is_no_json(text: str) -> None:
    assert not is_json_or_null(text)


def test_every_condition_that_sql_cannot_say_is_tested_here() -> None:
    found = {
        one.predicate
        for suite in SUITES.values()
        for one in suite.expectations
        if one.predicate is not None
    }
    assert found == {epochs_ascend, is_json_or_null, voters_once}


@pytest.mark.spark
def test_what_is_json_is_what_spark_makes_a_variant_of(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(value,) for value in _TEXTS], "value string")
    told = rows.selectExpr("value", "value IS NULL OR try_parse_json(value) IS NOT NULL AS is_json")
    found = {row.value: row.is_json for row in told.collect()}
    assert {value: is_json_or_null(value) for value in _TEXTS} == found
    assert {True, False} == set(found.values())
