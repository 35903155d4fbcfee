"""The rows that a suite judges, by Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.quality import suite_sql
from pipelines.quality.expectation import Expectation, Suite


def judged_rows(spark: SparkSession, suite: Suite, tables: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of pipelines.quality.suite_sql.judged_rows.

    tables: the suite's own table and the one that it joins, by table name without the schema.
    """
    used = [suite.contract, *([] if suite.joined is None else [suite.joined.contract])]
    views = {one.name: f"{{{one.table_name}}}" for one in used}
    frames: dict[str, Any] = {one.table_name: tables[one.table_name] for one in used}
    return spark.sql(suite_sql.judged_rows(suite, views), **frames)


def in_order(rows: DataFrame, suite: Suite) -> DataFrame:
    """The judged rows in one partition, in the order of the table's keys with NULL first. So the
    first broken rows are the ones that are shown."""
    return rows.sortWithinPartitions(*(F.col(f"`{key}`") for key in suite.contract.keys))


def is_satisfied(expectation: Expectation) -> Column:
    """Condition: whether a row of judged_rows satisfies an expectation of type ROW; never NULL."""
    return F.expr(suite_sql.is_satisfied(expectation))


def broken_rows(
    suites: Sequence[tuple[Suite, DataFrame]],
) -> dict[str, tuple[int, ...]]:
    """By table name, how many rows break each of the suite's expectations, in the suite's order.
    For an expectation about the table as a whole: 1 where it is broken.

    suites: with their judged rows. One query counts for all suites.
    """
    counts = [_broken_counts(suite, rows) for suite, rows in suites]
    told = reduce(DataFrame.unionAll, counts).collect() if counts else []
    return {row.name: tuple(row.counts) for row in told}


def _broken_counts(suite: Suite, rows: DataFrame) -> DataFrame:
    """One row: the table's name, and a count for each expectation."""
    counts = [F.expr(suite_sql.broken_count(one)).cast("bigint") for one in suite.expectations]
    return rows.agg(F.lit(suite.name).alias("name"), F.array(*counts).alias("counts"))


def without_broken(rows: DataFrame, suite: Suite, expectations: Sequence[Expectation]) -> DataFrame:
    """The table's rows that satisfy all of the expectations, with the table's own columns."""
    for one in expectations:
        rows = rows.where(is_satisfied(one))
    return rows.select(*(F.col(f"`{name}`") for name in suite.contract.column_names))
