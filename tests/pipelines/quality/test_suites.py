"""The suites: our conditions hold for good rows, and are broken by rows made to break them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.quality.expectation import BETWEEN, IN_SET, ROW, Action, Expectation, Suite
from pipelines.quality.gate import broken_rows, is_satisfied, judged_rows
from pipelines.quality.suites import SUITES
from pipelines.tables.bronze import BRONZE
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER
from tests.pipelines.quality.broken_rows import BROKEN, GOOD, Example, all_examples, conditions
from tests.pipelines.quorums import frame

_MARKED = ("cluster_id", "capture_id")


def test_every_table_of_a_build_has_a_suite() -> None:
    assert {one.name for one in (*BRONZE, *SILVER, *GOLD)} <= set(SUITES)


def test_every_condition_has_rows_that_break_it() -> None:
    for suite in SUITES.values():
        for meaning in conditions(suite):
            assert any(
                table == suite.name and meaning.startswith(beginning)
                for table, beginning, _ in BROKEN
            ), (suite.name, meaning)


def test_a_meaning_names_one_expectation_of_its_table() -> None:
    for suite in SUITES.values():
        meanings = [one.meaning for one in suite.expectations]
        assert len(set(meanings)) == len(meanings), suite.name


def test_an_expectation_names_columns_of_its_table() -> None:
    for suite in SUITES.values():
        for one in suite.expectations:
            assert set(one.columns) <= set(suite.contract.column_names), (suite.name, one)


def test_known_values_are_text_and_limits_are_numbers() -> None:
    for suite in SUITES.values():
        for one in suite.expectations:
            if one.type == IN_SET:
                assert one.kwargs["value_set"], one
                assert all(type(value) is str for value in one.kwargs["value_set"]), one
            if one.type == BETWEEN:
                assert one.kwargs["min_value"] >= 0, one


def test_only_conditions_can_leave_rows_out() -> None:
    with pytest.raises(AssertionError):
        Expectation(IN_SET, ("kind",), {"value_set": ["a"]}, Action.QUARANTINE, "one of")


@pytest.mark.spark
@pytest.mark.parametrize("name", SUITES)
def test_rows_break_the_conditions_that_they_are_made_to_break(
    spark: SparkSession, name: str
) -> None:
    suite = SUITES[name]
    required = [column.name for column in suite.contract.columns if not column.nullable]
    examples = [
        *all_examples(name),
        ("no value is missing", GOOD[name].changed(**{required[-1]: None})),
        ("keys are unique", replace(GOOD[name], rows=(*GOOD[name].rows, GOOD[name].rows[0]))),
    ]
    broken = _broken(spark, suite, [example for _, example in examples])
    for number, (beginning, _) in enumerate(examples):
        if beginning is None:
            assert broken[number] == set()
        else:
            assert any(one.startswith(beginning) for one in broken[number]), (beginning, number)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_the_one_query_of_a_layer_misses_nothing_that_great_expectations_finds(
    spark: SparkSession, name: str
) -> None:
    from pipelines.quality.validation import Validation

    suite = SUITES[name]
    for _, example in all_examples(name):
        tables = {suite.contract.table_name: frame(spark, suite.contract, [*example.rows])}
        if suite.joined is not None:
            other = frame(spark, suite.joined.contract, [*example.other])
            tables[suite.joined.contract.table_name] = other
        rows = judged_rows(spark, suite, tables)
        counts = broken_rows([(suite, rows)])[name]
        verdicts = Validation().judge(suite, rows, 0, len(example.rows)).verdicts
        missed = [
            one.expectation.meaning
            for count, one in zip(counts, verdicts, strict=True)
            if count == 0 and not one.success
        ]
        # not the other way round: it takes a condition on a column of NULLs alone for kept
        assert missed == []


def _broken(spark: SparkSession, suite: Suite, examples: list[Example]) -> Mapping[int, set[str]]:
    """What each example breaks, by its number: all of them judged by one query."""
    rows = [_marked(row, n) for n, one in enumerate(examples) for row in one.rows]
    tables = {suite.contract.table_name: _numbered(spark, suite.contract, rows)}
    if suite.joined is not None:
        other = [_marked(row, n) for n, one in enumerate(examples) for row in one.other]
        tables[suite.joined.contract.table_name] = frame(spark, suite.joined.contract, other)
    judged = judged_rows(spark, suite, tables)
    expected = [one for one in suite.expectations if one.type == ROW]
    told = judged.select(
        "number", *(is_satisfied(one).alias(str(i)) for i, one in enumerate(expected))
    ).collect()
    broken: dict[int, set[str]] = defaultdict(set)
    for row in told:
        broken[row.number] |= {one.meaning for i, one in enumerate(expected) if not row[str(i)]}
    return broken


def _marked(row: dict[str, Any], number: int) -> dict[str, Any]:
    """The row in a cluster, or a capture, of its example's own."""
    return row | {name: f"{number}" for name in _MARKED if row.get(name)} | {"number": number}


def _numbered(spark: SparkSession, contract: Contract, rows: list[dict[str, Any]]) -> DataFrame:
    """With the number of the example: windows and joins go by keys, so each has its own."""
    return frame(spark, contract, rows).withColumn(
        "number", F.coalesce(*(F.col(n) for n in _MARKED if n in contract.column_names)).cast("int")
    )
