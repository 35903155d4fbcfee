"""A condition in Python is true where the Spark SQL beside it in its suite is true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.quality.predicates import epochs_ascend, is_json_or_null, voters_once
from pipelines.quality.suites import SUITES

_EPOCHS = [
    None,
    [],
    [(1, 0)],
    [(1, None)],
    [None],
    [(1, 0), (2, 0)],
    [(1, 0), (1, 5)],
    [(1, 5), (2, 4)],
    [(1, 0), (None, 5)],
    [(1, None), (2, 5)],
    [(1, 0), None],
    [(1, 0), (2, 5), (3, 5)],
    [(1, 0), (3, 5), (2, 6)],
]
_VOTERS = [
    None,
    [],
    [None],
    [None, None],
    [None, (None, None, 1)],
    [(1, "d", 0)],
    [(1, None, 0)] * 2,
    [(1, "d", 0), (1, "e", 0)],
    [(1, "d", 0), (2, "d", 0)],
    [(1, "d", 0), (1, "d", 1)],
    [(1, None, 0), (1, None, 1)],
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


@pytest.mark.parametrize("entries", [None, [], [{"epoch": 1, "start_offset": None}]])
def test_fewer_than_two_epochs_ascend(entries: list[dict[str, Any]] | None) -> None:
    assert epochs_ascend(entries)


def test_an_epoch_without_a_value_does_not_ascend() -> None:
    assert not epochs_ascend([{"epoch": 1, "start_offset": 0}, None])


def test_the_same_id_in_two_directories_is_two_voters() -> None:
    assert voters_once([{"voter_id": 1, "directory_id": name} for name in ("d", "e")])
    assert not voters_once([{"voter_id": 1, "directory_id": None}] * 2)
    assert not voters_once([])


@pytest.mark.parametrize("text", _BEHIND)
def test_text_behind_json_is_no_json(text: str) -> None:
    assert not is_json_or_null(text)


def test_every_condition_that_only_spark_can_say_has_a_predicate_of_this_module() -> None:
    found = {
        one.predicate
        for suite in SUITES.values()
        for one in suite.expectations
        if one.predicate is not None
    }
    assert found == {epochs_ascend, is_json_or_null, voters_once}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("table", "column", "ddl", "values"),
    [
        (
            "bronze.replica_state",
            "leader_epochs",
            "array<struct<epoch:int,start_offset:bigint>>",
            _EPOCHS,
        ),
        (
            "silver.voter_sets",
            "voters",
            "array<struct<voter_id:int,directory_id:string,other:int>>",
            _VOTERS,
        ),
        ("gold.metadata_history", "value", "string", _TEXTS),
    ],
)
def test_a_predicate_says_what_spark_says(
    spark: SparkSession, table: str, column: str, ddl: str, values: Sequence[Any]
) -> None:
    (one,) = (
        one
        for one in SUITES[table].expectations
        if one.predicate is not None and one.columns == (column,)
    )
    predicate: Callable[[Any], bool] = one.predicate
    rows = spark.createDataFrame([(value,) for value in values], f"{column} {ddl}")
    condition = f"coalesce({one.kwargs['condition']}, false) AS satisfied"
    told = rows.selectExpr(column, condition).collect()
    found = [predicate(_plain(row[column])) for row in told]
    differing = [(row, own) for row, own in zip(told, found, strict=True) if row.satisfied != own]
    assert differing == []
    assert {True, False} == set(found)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [None if one is None else one.asDict() for one in value]
    return value
