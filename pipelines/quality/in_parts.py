"""Large tables judged some clusters at a time, by several processes and in bounded memory.

This is possible because the expectations of a table whose keys name the cluster are about rows of
one cluster at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import uuid4

from pipelines.delta.small import of_clusters, size_of
from pipelines.lake import Lake
from pipelines.quality.expectation import ROW_COUNT, Expectation, Suite
from pipelines.quality.suite_sql import table_name
from pipelines.quality.suites import SUITES, suites_of
from pipelines.quality.unbroken import Counted, QueryableTables, count_broken, opened_at
from pipelines.tables.contract import Contract
from pipelines.tasks import Tasks

_FEW_ROWS = 50_000
"""A table with fewer rows is judged as a whole."""


@dataclass(frozen=True)
class Parts:
    """groups: all clusters, in groups that one task judges. changed: the clusters whose rows may
    have changed since all rows of the tables in `unbroken` satisfied their suites. token: one for
    each build, so that a task never reads a table which a build of an earlier lake opened at the
    same path and version."""

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
