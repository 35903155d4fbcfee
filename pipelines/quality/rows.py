"""The rows that a suite judges, by Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from pipelines.quality.expectation import (
    BETWEEN,
    IN_SET,
    ROW,
    ROW_COUNT,
    ROWS_OF_KEY,
    Expectation,
    Suite,
)


def judged_rows(spark: SparkSession, suite: Suite, tables: Mapping[str, DataFrame]) -> DataFrame:
    """The table's rows with its own columns, those that the suite derives and joins, and
    ROWS_OF_KEY.

    tables: the suite's own table and the one that it joins, by table name without the schema.
    """
    derived = "".join(f", {sql} AS {name}" for name, sql in suite.derived.items())
    rows = spark.sql(f"SELECT t.*{derived} FROM {{rows}} t", rows=tables[suite.contract.table_name])  # noqa: S608 - the suites are our own text
    join = suite.joined
    if join is not None:
        facts = [F.expr(sql).alias(name) for name, sql in join.columns.items()]
        other = tables[join.contract.table_name].groupBy(*join.on).agg(*facts)
        # a merge join of two tables in one task each needs no shuffle; a broadcast is one job more
        rows = rows.join(other.hint("merge"), on=list(join.on), how="left")
    keys = Window.partitionBy(*(F.col(f"`{key}`") for key in suite.contract.keys))
    return rows.withColumn(ROWS_OF_KEY, F.count(F.lit(1)).over(keys))


def in_order(rows: DataFrame, suite: Suite) -> DataFrame:
    """The judged rows in one partition, in the order of the table's keys with NULL first. So the
    first broken rows are the ones that are shown."""
    return rows.sortWithinPartitions(*(F.col(f"`{key}`") for key in suite.contract.keys))


def is_satisfied(expectation: Expectation) -> Column:
    """Condition: whether a row of judged_rows satisfies an expectation of type ROW; never NULL."""
    return F.coalesce(F.expr(expectation.kwargs["condition"]), F.lit(False))


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
    counts = [_broken_count(one) for one in suite.expectations]
    return rows.agg(F.lit(suite.name).alias("name"), F.array(*counts).alias("counts"))


def _broken_count(expectation: Expectation) -> Column:
    if expectation.type == ROW_COUNT:
        least = expectation.kwargs["min_value"]
        return F.when(F.count(F.lit(1)) < least, 1).otherwise(0).cast("bigint")
    return F.count(F.when(_is_broken(expectation), 1))


def _is_broken(expectation: Expectation) -> Column:
    """Whether a row breaks the expectation by Great Expectations' rule: by its value, where there
    is one, or by its condition."""
    if expectation.type == ROW:
        return ~is_satisfied(expectation)
    column = F.col(f"`{expectation.columns[0]}`")
    if expectation.type == IN_SET:
        return ~column.isin(list(expectation.kwargs["value_set"]))
    assert expectation.type == BETWEEN, expectation.type
    return column < F.lit(expectation.kwargs["min_value"])


def without_broken(rows: DataFrame, suite: Suite, expectations: Sequence[Expectation]) -> DataFrame:
    """The table's rows that satisfy all of the expectations, with the table's own columns."""
    good = reduce(and_, [is_satisfied(one) for one in expectations])
    return rows.where(good).select(*(F.col(f"`{name}`") for name in suite.contract.column_names))
