"""What is counted without Spark: the same as Spark counts, for every expectation of every suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines import delta
from pipelines.lake import Lake
from pipelines.quality.gate import broken_rows, judged_rows
from pipelines.quality.suites import SUITES, suites_of
from pipelines.quality.unbroken import counted, opened
from pipelines.spark.session import settings
from pipelines.tables.bronze import BRONZE, DAMAGE
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD as GOLD_TABLES
from pipelines.tables.silver import SILVER
from replica.errors import UsageError
from tests.pipelines.quality.broken_rows import GOOD, Example, all_examples
from tests.pipelines.quality.example_lakes import (
    lake_of_bronze,
    lake_of_example,
    loose,
    whole_example,
)

_NO_ROWS = Example((), ())
_TO_PLAN_FAST = {"spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false"}
"""For many small tables of one partition each."""


def counts_of_broken(lake: Lake, tables: Sequence[Contract]) -> dict[str, tuple[int, ...]]:
    """How many rows of each table break each expectation, by table name."""
    return {one.suite.name: one.broken for one in counted(opened(lake, tables), tables)}


@pytest.mark.parametrize("name", SUITES)
def test_rows_break_without_spark_what_they_are_made_to_break(name: str, tmp_path: Path) -> None:
    suite = SUITES[name]
    for number, (beginning, example) in enumerate(all_examples(name)):
        lake, tables = lake_of_example(tmp_path / str(number), suite, example)
        counts = counts_of_broken(lake, tables)[name]
        broken = {
            one.meaning for one, count in zip(suite.expectations, counts, strict=True) if count
        }
        if beginning is None:
            assert broken == set()
        else:
            assert any(meaning.startswith(beginning) for meaning in broken), (beginning, broken)


def test_a_table_with_too_few_rows_and_one_with_a_key_twice_are_counted(tmp_path: Path) -> None:
    lake = lake_of_bronze(tmp_path)
    delta.add_values(lake, DAMAGE, [*GOOD["bronze.damage"].rows] * 2)
    found = {one.suite.name: one for one in counted(opened(lake, BRONZE), BRONZE)}
    assert (found["bronze.damage"].row_count, found["bronze.damage"].version) == (3, 2)
    assert found["bronze.damage"].broken == (0, 0, 3, 0, 0, 0)
    assert found["bronze.captures"].broken == (0,) * 6
    lake, tables = lake_of_example(tmp_path / "none", SUITES["bronze.captures"], _NO_ROWS)
    assert counts_of_broken(lake, tables)["bronze.captures"] == (1, 0, 0, 0, 0, 0)


def test_a_lake_without_one_of_the_tables_is_refused_by_its_name(tmp_path: Path) -> None:
    lake, _ = lake_of_example(tmp_path, SUITES["bronze.damage"], GOOD["bronze.damage"])
    with pytest.raises(UsageError, match=r"has no table bronze\.findings"):
        counts_of_broken(lake, [table for table in BRONZE if table.table_name == "findings"])


def test_a_derived_column_says_where_rows_without_a_value_are_in_an_order() -> None:
    """Spark has NULL first where nothing is said, DataFusion last."""
    for suite in SUITES.values():
        joined = {} if suite.joined is None else suite.joined.columns
        for sql in (*suite.derived.values(), *joined.values()):
            assert sql.count("ORDER BY") == sql.count(" NULLS FIRST"), sql


@pytest.mark.spark
@pytest.mark.slow
def test_spark_counts_as_many_broken_rows_of_every_expectation(
    spark: SparkSession, tmp_path: Path
) -> None:
    without, with_spark = {}, []
    for name, suite in SUITES.items():
        lake, tables = lake_of_example(tmp_path / name, suite, whole_example(name))
        without[name] = counts_of_broken(lake, tables)[name]
        rows = {one.table_name: delta.read_newest(spark, lake, loose(one)).rows for one in tables}
        with_spark.append((suite, judged_rows(spark, suite, rows)))
    with settings(spark, _TO_PLAN_FAST):
        assert broken_rows(with_spark) == without
    for name, suite in SUITES.items():
        kept = [
            one.meaning
            for one, count in zip(suite.expectations, without[name], strict=True)
            if not count and one.columns
        ]
        assert kept == [], name


@pytest.mark.spark
@pytest.mark.parametrize("tables", [BRONZE, SILVER, GOLD_TABLES], ids=["bronze", "silver", "gold"])
def test_nothing_is_broken_in_the_lake_of_the_recorded_clusters(
    built_lake: Path, tables: tuple[Contract, ...]
) -> None:
    """The gate of its build, in which Spark counted, says the same."""
    counts = counts_of_broken(Lake(built_lake), tables)
    assert counts == {s.name: (0,) * len(s.expectations) for s in suites_of(tables)}
