"""The gate between two layers: only rows that it admits are used to derive the next layer.

Rows that an expectation quarantines stay in their own table. The gate leaves them out of the
DataFrame that it gives, and writes them to gold.quarantined_rows with the reason. All verdicts of a
run go to gold.quality_results in one commit, and to pages in <lake>/_quality, also where the run
ends early.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines import delta
from pipelines.lake.lock import between_ingests
from pipelines.quality import suite_sql
from pipelines.quality.expectation import Action, Expectation, Suite
from pipelines.quality.results import JudgedRun, forget_quarantined, of_tables, stop_if_broken
from pipelines.quality.suites import suites_of
from pipelines.quality.verdicts import ExpectationResult, TableResult, unbroken
from pipelines.tables.bronze import CAPTURES
from pipelines.tables.contract import Contract
from pipelines.tables.gold import QUARANTINED_ROWS


class Gate(JudgedRun):
    """The gates of one run, whose rows Spark judges. progress, run_id: as in JudgedRun."""

    def __init__(
        self,
        spark: SparkSession,
        lake: delta.Lake,
        progress: Callable[[str], None],
        run_id: str | None = None,
    ) -> None:
        super().__init__(lake, progress, run_id, by_spark=True)
        self._spark = spark
        self._kept: list[DataFrame] = []
        self._small_only = True

    @property
    def read_small_only(self) -> bool:
        """Whether each table that was judged so far is in one partition."""
        return self._small_only

    @property
    def whole(self) -> dict[Contract, int]:
        """The versions of those judged tables of which no row is left out."""
        return {one.table: one.version for one in self.results if not one.broken(Action.QUARANTINE)}

    def _keep(self, rows: DataFrame) -> DataFrame:
        self._kept.append(rows.persist())
        return self._kept[-1]

    def _write(self) -> None:
        for rows in self._kept:
            rows.unpersist()
        super()._write()

    def judge(self, tables: Sequence[Contract]) -> None:
        """Judges the tables of one layer. Leaves no row out, and never ends the build."""
        self._judge(tables)

    def admit(self, tables: Sequence[Contract]) -> dict[Contract, DataFrame]:
        """Judges the tables of one layer. Gives their rows without those that are quarantined.

        Raises CorruptDataError, which names the table, the expectation and some keys, where an
        expectation whose action is STOP is broken.
        """
        found, rows = self._judge(tables)
        stop_if_broken(self._lake, found)
        self._write_quarantine(found, rows)
        return {one.table: admitted for one, (_, admitted) in zip(found, rows, strict=True)}

    def _judge(
        self, tables: Sequence[Contract]
    ) -> tuple[list[TableResult], list[tuple[DataFrame, DataFrame]]]:
        """For each table its result, its judged rows, and its admitted rows."""
        are_of_bronze = CAPTURES in tables
        with between_ingests(self._lake, self._progress) if are_of_bronze else nullcontext():
            read = {
                one.table_name: delta.read_newest(self._spark, self._lake, one) for one in tables
            }
        admitted = {
            name: self._keep(one.rows) if one.is_small else one.rows for name, one in read.items()
        }
        self._small_only &= all(one.is_small for one in read.values())
        suites = suites_of(tables)
        judged = {
            suite.contract.table_name: judged_rows(self._spark, suite, admitted) for suite in suites
        }
        broken = broken_rows([(suite, judged[suite.contract.table_name]) for suite in suites])
        found: list[TableResult] = []
        rows: list[tuple[DataFrame, DataFrame]] = []
        left_out: set[str] = set()
        for suite in suites:
            name = suite.contract.table_name
            joins_fewer = suite.joined is not None and suite.joined.contract.table_name in left_out
            if joins_fewer:  # the joined table lost rows, which may break this suite
                judged[name] = judged_rows(self._spark, suite, admitted)
            version, count = read[name].version, read[name].row_count
            if joins_fewer or any(broken[suite.name]):
                ordered = in_order(judged[name], suite) if read[name].is_small else judged[name]
                result = self._in_detail(suite, ordered, version, count)
            else:
                result = unbroken(suite, version, count)
            found.append(result)
            bad = [one.expectation for one in result.broken(Action.QUARANTINE)]
            if bad:
                left_out.add(name)
                admitted[name] = without_broken(judged[name], suite, bad)
            rows.append((judged[name], admitted[name]))
        self.results += found
        return found, rows

    def _write_quarantine(
        self, found: Sequence[TableResult], rows: Sequence[tuple[DataFrame, DataFrame]]
    ) -> None:
        parts = [
            self._quarantined(one, judged, verdict)
            for one, (judged, _) in zip(found, rows, strict=True)
            for verdict in one.broken(Action.QUARANTINE)
        ]
        tables = [one.table for one in found]
        if not parts:
            forget_quarantined(self._lake, tables)
            return
        delta.ensure_table(self._lake, QUARANTINED_ROWS)
        left_out = reduce(DataFrame.unionByName, parts)
        delta.overwrite(self._lake, QUARANTINED_ROWS, left_out, replace_where=of_tables(tables))

    def _quarantined(
        self, one: TableResult, judged: DataFrame, verdict: ExpectationResult
    ) -> DataFrame:
        columns = [F.col(f"`{name}`") for name in one.table.column_names]
        keys = [F.col(f"`{name}`") for name in one.table.keys]
        return judged.where(~is_satisfied(verdict.expectation)).select(
            F.lit(self.run_id).alias("run_id"),
            F.lit(self._at).alias("at"),
            F.lit(one.table.name).alias("table_name"),
            F.lit(one.version).cast("bigint").alias("table_version"),
            F.lit(verdict.expectation.meaning).alias("reason"),
            F.to_json(F.struct(*keys)).alias("row_key"),
            F.to_json(F.struct(*columns)).alias("content"),
        )


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

    suites: each with its judged rows. One query counts for all suites.
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
