"""How many rows of a layer's tables break their suites, counted without Spark.

The counts are those of pipelines.quality.gate, by delta-rs's SQL engine, DataFusion: some
milliseconds for each small table. Where a suite's SQL doesn't run on DataFusion, the expectation
has a predicate, and the values pass through this process's memory.

Large tables are judged some clusters at a time, by several processes and in bounded memory. This is
possible because the expectations of a table whose keys name the cluster are about rows of one
cluster at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from uuid import uuid4

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipelines.delta.small import of_clusters, size_of
from pipelines.delta.tables import open_newest
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_table
from pipelines.quality.expectation import ROW_COUNT, Expectation, Suite
from pipelines.quality.suite_sql import (
    broken_count,
    judged_rows,
    quoted,
    source_of,
    table_name,
)
from pipelines.quality.suites import SUITES, suites_of
from pipelines.tables.contract import Contract
from pipelines.tasks import Tasks


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
    """The counts of the tables, in the order of SUITES. tables: include all tables that their
    suites join; all are in `layer`.

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
    """How many rows break the expectation by its predicate. The values are read in batches, so that
    they don't fill this process's memory."""
    assert expectation.predicate is not None, expectation.meaning
    columns = ", ".join(quoted(expectation.columns))
    source = source_of(suite.name, rows)
    found = layer.builder.execute(f"SELECT {columns} FROM {source}")  # noqa: S608 - the names are our own
    broken = 0
    for batch in found:
        values = (column.to_pylist() for column in pa.record_batch(batch).columns)
        broken += sum(not expectation.predicate(*row) for row in zip(*values, strict=True))
    return broken


_FEW_ROWS = 50_000
"""A table with fewer rows is judged as a whole."""


@dataclass(frozen=True)
class Parts:
    """The parts in which tables are judged. groups: all clusters; one task judges a group. changed:
    the clusters whose rows may have changed since all rows of the tables in `unbroken` satisfied
    their suites. token: one for each build, so that a task never reads a table which a build of an
    earlier lake opened at the same path and version."""

    groups: Sequence[Sequence[str]]
    tasks: Tasks
    changed: frozenset[str] = frozenset()
    unbroken: frozenset[str] = frozenset()
    token: str = field(default_factory=lambda: uuid4().hex, compare=False)


@dataclass(frozen=True)
class _Part:
    """The rows of some clusters in one table. token: as in Parts. tables: the versions of the table
    and of the one that it joins, by name."""

    token: str
    lake: Lake
    tables: tuple[tuple[str, int], ...]
    suite: str
    clusters: tuple[str, ...]


def counted_in_parts(
    lake: Lake, layer: QueryableTables, tables: Sequence[Contract], parts: Parts
) -> list[Counted]:
    """The result of `counted` for the same tables. parts: have all clusters of the lake."""
    return [
        _by_clusters(lake, layer, suite, parts) or count_broken(layer, suite)
        for suite in suites_of(tables)
    ]


def _by_clusters(lake: Lake, layer: QueryableTables, suite: Suite, parts: Parts) -> Counted | None:
    """The table in parts by clusters. None where it must be judged as a whole: it is small, has
    rows of other clusters, or has rows outside of the parts that may break an expectation."""
    row_count = size_of(layer.tables[suite.name]).row_count
    if row_count is None or "cluster_id" not in suite.contract.keys:
        return None
    is_known = suite.name in parts.unbroken
    if not is_known and (len(parts.groups) < 2 or row_count < _FEW_ROWS):
        return None
    groups = [
        tuple(one for one in group if not is_known or one in parts.changed)
        for group in parts.groups
    ]
    joined = () if suite.joined is None else (suite.joined.contract.name,)
    tables = tuple((name, layer.versions[name]) for name in (suite.name, *joined))
    found = parts.tasks.map(
        _count, [_Part(parts.token, lake, tables, suite.name, group) for group in groups if group]
    )
    broken = tuple(
        _of_table(one, row_count, [counts[number] for _, counts in found])
        for number, one in enumerate(suite.expectations)
    )
    is_whole = is_known or sum(rows for rows, _ in found) == row_count
    if not is_whole or (is_known and any(broken)):
        return None
    return Counted(suite, layer.versions[suite.name], row_count, broken)


def _of_table(expectation: Expectation, row_count: int, counts: Sequence[int]) -> int:
    if expectation.type == ROW_COUNT:
        return int(row_count < expectation.kwargs["min_value"])
    return sum(counts)


def _count(part: _Part) -> tuple[int, tuple[int, ...]]:
    """Runs in a task. Counts the rows, and the rows that break each expectation."""
    suite, where = SUITES[part.suite], of_clusters(part.clusters)
    rows = {suite.name: _rows(suite.name, where)}
    if suite.joined is not None and "cluster_id" in suite.joined.on:
        name = suite.joined.contract.name
        rows[name] = _rows(name, where)
    found = count_broken(_opened(part.token, part.lake, part.tables), suite, rows)
    return found.row_count, found.broken


def _rows(name: str, where: str) -> str:
    return f"SELECT * FROM {table_name(name)} WHERE {where}"  # noqa: S608 - our own text


@lru_cache(maxsize=8)
def _opened(_token: str, lake: Lake, tables: tuple[tuple[str, int], ...]) -> QueryableTables:
    """The tables, opened once by each process: it judges the same tables for many clusters."""
    versions: Mapping[str, int] = dict(tables)
    return opened_at(lake, versions)
