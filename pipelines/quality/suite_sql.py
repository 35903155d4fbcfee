"""The SQL of a suite, which Spark and DataFusion, the engine of delta-rs, understand alike.

Tables have no schema in DataFusion: bronze.captures is named bronze_captures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from pipelines.dialects import DATA_FUSION, SPARK, Sql
from pipelines.quality.expectation import (
    BETWEEN,
    IN_SET,
    ROW,
    ROW_COUNT,
    ROWS_OF_KEY,
    Expectation,
    Suite,
)


def judged_rows(
    suite: Suite,
    admitted: Mapping[str, str] = MappingProxyType({}),
    present: Collection[str] = (),
) -> str:
    """SQL that gives the table's rows with the table's own columns, the columns that the suite
    derives and joins, and ROWS_OF_KEY.

    admitted: by table name, SQL of the rows that count, for tables of which other rows are left out
    (such as `without_broken`). present: the columns that the rows have already.
    """
    windows = {**suite.derived, **{name: of.sql for name, of in suite.beside.items()}}
    derived = "".join(f", {windows[name]} AS {name}" for name in windows if name not in present)
    rows = f"SELECT t.*{derived} FROM {source_of(suite.name, admitted)} t"
    join = suite.joined
    if join is not None:
        columns = ", ".join(quoted(join.on))
        facts = ", ".join(f"{sql} AS {name}" for name, sql in join.columns.items())
        joined = source_of(join.contract.name, admitted)
        other = f"SELECT {columns}, {facts} FROM {joined} GROUP BY {columns}"
        equal = " AND ".join(f"r.{name} = o.{name}" for name in quoted(join.on))
        names = "".join(f", o.{name}" for name in join.columns)
        # a merge join of two tables in one task each needs no shuffle; a broadcast would be one
        # more Spark job; DataFusion takes the hint for a comment
        hint = "/*+ MERGE(o) */"
        rows = f"SELECT {hint} r.*{names} FROM ({rows}) r LEFT JOIN ({other}) o ON {equal}"
    if ROWS_OF_KEY in present:
        return rows
    keys = ", ".join(quoted(suite.contract.keys))
    return f"SELECT *, count(*) OVER (PARTITION BY {keys}) AS {ROWS_OF_KEY} FROM ({rows})"


def source_of(name: str, admitted: Mapping[str, str]) -> str:
    """SQL that gives a table's rows, or only the admitted ones. admitted: as in `judged_rows`."""
    return f"({admitted[name]})" if name in admitted else table_name(name)


def without_broken(judged: str, suite: Suite, expectations: Sequence[Expectation]) -> str:
    """SQL that gives the table's rows which satisfy all of the expectations, with the table's own
    columns.

    judged: SQL of the judged rows.
    """
    good = " AND ".join(f"NOT ({is_broken(one)})" for one in expectations)
    return f"SELECT {_own_columns(suite)} FROM ({judged}) WHERE {good}"


def only_broken(judged: str, suite: Suite, expectation: Expectation) -> str:
    """SQL that gives the table's rows which break the expectation. judged: as in
    `without_broken`."""
    return f"SELECT {_own_columns(suite)} FROM ({judged}) WHERE {is_broken(expectation)}"


def _own_columns(suite: Suite) -> str:
    return ", ".join(quoted(suite.contract.column_names))


def broken_count(expectation: Expectation) -> str:
    """SQL that counts the judged rows which break the expectation."""
    if expectation.type == ROW_COUNT:
        return f"CASE WHEN count(*) < {expectation.kwargs['min_value']} THEN 1 ELSE 0 END"
    return f"count(*) FILTER (WHERE {is_broken(expectation)})"


def is_broken(expectation: Expectation) -> str:
    """SQL condition: whether a row breaks the expectation by Great Expectations' rule. An
    expectation about a column judges the column's value; any other judges its condition. A row for
    which this SQL is NULL is not counted."""
    if expectation.type == ROW:
        return f"NOT {is_satisfied(expectation)}"
    (column,) = quoted(expectation.columns)
    if expectation.type == IN_SET:
        return f"{column} NOT IN ({DATA_FUSION.literals(expectation.kwargs['value_set'])})"
    assert expectation.type == BETWEEN, expectation.type
    return f"{column} < {expectation.kwargs['min_value']}"


def is_satisfied(expectation: Expectation) -> str:
    """SQL condition: whether a row satisfies an expectation of type ROW; never NULL."""
    return f"coalesce(({expectation.kwargs['condition']}), FALSE)"


def quoted(names: Iterable[str]) -> Iterator[Sql]:
    """The names in the quotes that both engines take."""
    return map(SPARK.identifier, names)


def table_name(name: str) -> Sql:
    """A table's name in DataFusion, where names have no schema."""
    return name.replace(".", "_")
