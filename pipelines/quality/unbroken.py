"""How many rows of a layer's tables break their suites, counted without Spark.

The same as pipelines.quality.rows counts, by delta-rs's SQL, which is DataFusion's: some
milliseconds for each small table. Where the suites' SQL can't be DataFusion's, an expectation has
a predicate, and the values pass through this process's memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipelines.delta.lake import Lake
from pipelines.delta.small import text
from pipelines.delta.tables import no_table
from pipelines.delta_rs import open_if_there
from pipelines.quality.expectation import (
    BETWEEN,
    IN_SET,
    ROW,
    ROW_COUNT,
    ROWS_OF_KEY,
    Expectation,
    Suite,
)
from pipelines.quality.suites import suites_of
from pipelines.tables.contract import Contract


@dataclass(frozen=True)
class Counted:
    """A table's newest version, its rows, and how many of them break each expectation of its suite,
    in the suite's order; for one about the table as a whole 1 where it is broken."""

    suite: Suite
    version: int
    row_count: int
    broken: tuple[int, ...]


def counts_of_broken(lake_root: str, tables: Sequence[Contract]) -> dict[str, tuple[int, ...]]:
    """By table name, Counted.broken. tables, and errors: as of `counted`."""
    return {one.suite.name: one.broken for one in counted(lake_root, tables)}


def counted(lake_root: str, tables: Sequence[Contract]) -> list[Counted]:
    """In the order of SUITES. tables: with all that their suites join.

    UsageError where the lake lacks one of them. Raises what delta-rs raises: just Exception where a
    data file is gone.
    """
    suites = suites_of(tables)
    opened = {one.name: _opened(lake_root, one) for one in tables}
    builder = QueryBuilder()
    for name, table in opened.items():
        builder.register(_in_sql(name), table)
    return [_counted(builder, suite, opened[suite.name].version()) for suite in suites]


def _opened(lake_root: str, contract: Contract) -> DeltaTable:
    table = open_if_there(lake_root, contract.name)
    if table is None:
        raise no_table(Lake(lake_root), contract)
    return table


def _counted(builder: QueryBuilder, suite: Suite, version: int) -> Counted:
    by_sql = [one for one in suite.expectations if one.predicate is None]
    counts = ", ".join(f"{_count(one)} AS c{number}" for number, one in enumerate(by_sql))
    query = f"SELECT count(*) AS row_count, {counts} FROM ({_judged_rows(suite)})"  # noqa: S608 - the suites are our own text
    (row,) = _rows(builder, query)
    row_count = row.pop("row_count")
    found = iter(row.values())
    broken = tuple(
        next(found) if one.predicate is None else _broken_by_predicate(builder, suite, one)
        for one in suite.expectations
    )
    return Counted(suite, version, row_count, broken)


def _rows(builder: QueryBuilder, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.table(builder.execute(query).read_all()).to_pylist()
    return found


def _judged_rows(suite: Suite) -> str:
    """SQL: as pipelines.quality.rows.judged_rows."""
    derived = "".join(f", {sql} AS {name}" for name, sql in suite.derived.items())
    rows = f"SELECT t.*{derived} FROM {_in_sql(suite.name)} t"  # noqa: S608 - the suites are our own text
    join = suite.joined
    if join is not None:
        columns = ", ".join(_quoted(join.on))
        facts = ", ".join(f"{sql} AS {name}" for name, sql in join.columns.items())
        other = f"SELECT {columns}, {facts} FROM {_in_sql(join.contract.name)} GROUP BY {columns}"  # noqa: S608
        equal = " AND ".join(f"r.{name} = o.{name}" for name in _quoted(join.on))
        names = "".join(f", o.{name}" for name in join.columns)
        rows = f"SELECT r.*{names} FROM ({rows}) r LEFT JOIN ({other}) o ON {equal}"  # noqa: S608
    keys = ", ".join(_quoted(suite.contract.keys))
    return f"SELECT *, count(*) OVER (PARTITION BY {keys}) AS {ROWS_OF_KEY} FROM ({rows})"  # noqa: S608


def _count(expectation: Expectation) -> str:
    """SQL: how many of the judged rows break it."""
    if expectation.type == ROW_COUNT:
        return f"CASE WHEN count(*) < {expectation.kwargs['min_value']} THEN 1 ELSE 0 END"
    return f"count(*) FILTER (WHERE {_is_broken(expectation)})"


def _is_broken(expectation: Expectation) -> str:
    """SQL: as of pipelines.quality.rows; a row for which it is NULL is not counted."""
    if expectation.type == ROW:
        return f"NOT coalesce(({expectation.kwargs['condition']}), FALSE)"
    (column,) = _quoted(expectation.columns)
    if expectation.type == IN_SET:
        return f"{column} NOT IN ({', '.join(map(text, expectation.kwargs['value_set']))})"
    assert expectation.type == BETWEEN, expectation.type
    return f"{column} < {expectation.kwargs['min_value']}"


def _broken_by_predicate(builder: QueryBuilder, suite: Suite, expectation: Expectation) -> int:
    """Of a table's columns a piece at a time, so that they don't fill this process's memory."""
    assert expectation.predicate is not None, expectation.meaning
    columns = ", ".join(_quoted(expectation.columns))
    found = builder.execute(f"SELECT {columns} FROM {_in_sql(suite.name)}")  # noqa: S608 - the names are our own
    broken = 0
    for batch in found:
        values = (column.to_pylist() for column in pa.record_batch(batch).columns)
        broken += sum(not expectation.predicate(*row) for row in zip(*values, strict=True))
    return broken


def _quoted(names: Sequence[str]) -> Iterator[str]:
    return (f'"{name}"' for name in names)


def _in_sql(name: str) -> str:
    """A table's name where names have no schema."""
    return name.replace(".", "_")
