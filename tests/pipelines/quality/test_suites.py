"""The suites: our conditions hold for good rows, and are broken by rows made to break them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest
from datafusion import SessionContext
from pyspark.sql import SparkSession

from pipelines.quality.expectation import (
    BETWEEN,
    IN_SET,
    ROW_COUNT,
    Action,
    Expectation,
    Suite,
)
from pipelines.quality.judge import Answer, judge_layer, judge_stored
from pipelines.quality.suite_sql import broken_count, judged_rows, table_name
from pipelines.quality.suites import SUITES
from pipelines.quality.table_results import summed
from pipelines.tables.bronze import BRONZE
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER
from tests.pipelines.quality.broken_rows import BROKEN, GOOD, Example, all_examples, conditions
from tests.pipelines.quality.example_lakes import tables_of_example, whole_example


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


@pytest.mark.parametrize("name", SUITES)
def test_rows_break_the_expectations_that_they_are_made_to_break(name: str) -> None:
    suite = SUITES[name]
    required = [column.name for column in suite.contract.columns if not column.nullable]
    examples = [
        *all_examples(name),
        *(("no value is missing", GOOD[name].changed(**{one: None})) for one in required),
        ("keys are unique", replace(GOOD[name], rows=(*GOOD[name].rows, GOOD[name].rows[0]))),
        *(
            (one.meaning, _breaking(suite, one))
            for one in suite.own
            if one.type in (IN_SET, BETWEEN)
        ),
    ]
    for beginning, example in examples:
        rows = tables_of_example(suite, example)
        judged = judge_layer(rows)[suite.contract]
        found = summed(suite, 0, judged.judgements).verdicts
        broken = {one.expectation.meaning: one for one in found if not one.success}
        if beginning is None:
            assert broken == {}
            assert judged.admitted.num_rows == len(example.rows)
            assert sum(one.row_count for one in judged.judgements) == len(example.rows)
            continue
        (one,) = (one for meaning, one in broken.items() if meaning.startswith(beginning))
        assert 1 <= one.unexpected_rows <= len(example.rows)
        assert 1 <= len(one.sample) <= one.unexpected_rows
        leaves_out = {r for r, v in broken.items() if v.expectation.action is Action.QUARANTINE}
        assert {row.reason for row in judged.left_out} == leaves_out
        assert (judged.admitted.num_rows < len(example.rows)) == bool(leaves_out)


def test_a_table_with_too_few_rows_breaks_its_suite() -> None:
    suite = SUITES["bronze.captures"]
    found = summed(
        suite, 0, judge_layer(tables_of_example(suite, Example((), ())))[suite.contract].judgements
    )
    assert [one.expectation.type for one in found.broken(Action.STOP)] == [ROW_COUNT]


def test_a_derived_column_says_where_rows_without_a_value_are_in_an_order() -> None:
    """Spark has NULL first where nothing is said, DataFusion last."""
    for suite in SUITES.values():
        joined = {} if suite.joined is None else suite.joined.columns
        for sql in (*suite.derived.values(), *joined.values()):
            assert sql.count("ORDER BY") == sql.count(" NULLS FIRST"), sql


def _breaking(suite: Suite, expectation: Expectation) -> Example:
    (column,) = expectation.columns
    least = expectation.kwargs.get("min_value", 0)
    bad = "no known value" if expectation.type == IN_SET else least - 1
    return GOOD[suite.name].changed(**{column: bad})


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_spark_understands_the_sql_of_a_suite_and_counts_the_same(
    spark: SparkSession, name: str
) -> None:
    suite = SUITES[name]
    rows = tables_of_example(suite, whole_example(name))
    for contract, some in rows.items():
        spark.createDataFrame(some).createOrReplaceTempView(table_name(contract.name))
    in_sql = [n for n, one in enumerate(suite.expectations) if one.predicate is None]
    counts = ", ".join(f"{broken_count(suite.expectations[n])} AS c{n}" for n in in_sql)
    (told,) = spark.sql(f"SELECT {counts} FROM ({judged_rows(suite)})").collect()
    judgements, _ = judge_stored(_answers(rows), [suite.contract], {})
    found = summed(suite, 0, judgements).verdicts
    assert {n: told[f"c{n}"] for n in in_sql if suite.expectations[n].columns} == {
        n: found[n].unexpected_rows for n in in_sql if suite.expectations[n].columns
    }


def _answers(rows: Mapping[Contract, pa.Table]) -> Answer:
    context = SessionContext()
    for contract, some in rows.items():
        context.register_record_batches(table_name(contract.name), [some.to_batches()])
    return lambda query: (one.to_pyarrow() for one in context.sql(query).execute_stream())
