"""How many rows of a layer's tables break their suites, counted without Spark.

The counts are those of pipelines.quality.gate, by delta-rs's SQL engine, DataFusion: some
milliseconds for each small table. Where a suite's SQL doesn't run on DataFusion, the expectation
has a predicate, and the values pass through this process's memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipelines.delta.tables import open_newest
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_table
from pipelines.quality.expectation import Expectation, Suite
from pipelines.quality.suite_sql import (
    broken_count,
    judged_rows,
    quoted,
    source_of,
    table_name,
)
from pipelines.quality.suites import suites_of
from pipelines.tables.contract import Contract


@dataclass(frozen=True)
class QueryableTables:
    """Tables that can be queried with SQL, each at one version, by name."""

    builder: QueryBuilder
    tables: Mapping[str, DeltaTable]

    @cached_property
    def versions(self) -> dict[str, int]:
        """The tables' versions, by name."""
        return {name: table.version() for name, table in self.tables.items()}

    def answer(self, query: str) -> pa.Table:
        """The answer to a query, which names the tables as pipelines.quality.suite_sql does."""
        return pa.table(self.builder.execute(query).read_all())


@dataclass(frozen=True)
class Counted:
    """A table's newest version, its number of rows, and how many of them break each expectation of
    its suite, in the suite's order. For an expectation about the table as a whole: 1 where it is
    broken."""

    suite: Suite
    version: int
    row_count: int
    broken: tuple[int, ...]


def opened(lake: Lake, tables: Sequence[Contract]) -> QueryableTables:
    """The tables at their newest versions. Raises UsageError where the lake lacks one of them."""
    return _registered({one.name: open_newest(lake, one) for one in tables})


def opened_at(lake: Lake, versions: Mapping[str, int]) -> QueryableTables:
    """Tables of a lake at these versions, by name. Raises what delta-rs raises."""
    return _registered(
        {name: open_table(lake.table_uri(name), at) for name, at in versions.items()}
    )


def _registered(tables: Mapping[str, DeltaTable]) -> QueryableTables:
    builder = QueryBuilder()
    for name, table in tables.items():
        builder.register(table_name(name), table)
    return QueryableTables(builder, tables)


def counted(layer: QueryableTables, tables: Sequence[Contract]) -> list[Counted]:
    """The counts of the tables, in the order of SUITES. tables: with all tables that their suites
    join; all are in `layer`.

    Raises what delta-rs raises, which is a plain Exception where a data file is missing.
    """
    return [count_broken(layer, suite) for suite in suites_of(tables)]


def count_broken(
    layer: QueryableTables, suite: Suite, rows: Mapping[str, str] = MappingProxyType({})
) -> Counted:
    """The counts of one table. rows: by table name, SQL of the rows that are judged; a table
    without an entry is judged as a whole. Raises as `counted`."""
    by_sql = [one for one in suite.expectations if one.predicate is None]
    counts = ", ".join(f"{broken_count(one)} AS c{number}" for number, one in enumerate(by_sql))
    query = f"SELECT count(*) AS row_count, {counts} FROM ({judged_rows(suite, rows)})"  # noqa: S608 - the suites are our own text
    (row,) = layer.answer(query).to_pylist()
    row_count = row.pop("row_count")
    found = iter(row.values())
    broken = tuple(
        next(found) if one.predicate is None else _broken_by_predicate(layer, suite, one, rows)
        for one in suite.expectations
    )
    return Counted(suite, layer.versions[suite.name], row_count, broken)


def _broken_by_predicate(
    layer: QueryableTables, suite: Suite, expectation: Expectation, rows: Mapping[str, str]
) -> int:
    """How many rows break the expectation by its predicate. It reads some of the column at a time,
    so that the values don't fill this process's memory."""
    assert expectation.predicate is not None, expectation.meaning
    columns = ", ".join(quoted(expectation.columns))
    source = source_of(suite.name, rows)
    found = layer.builder.execute(f"SELECT {columns} FROM {source}")  # noqa: S608 - the names are our own
    broken = 0
    for batch in found:
        values = (column.to_pylist() for column in pa.record_batch(batch).columns)
        broken += sum(not expectation.predicate(*row) for row in zip(*values, strict=True))
    return broken
