"""Queries by delta-rs' QueryBuilder, which is DataFusion: without a JVM, the first row comes in a
tenth of a second.

A VARIANT becomes struct<metadata, value>.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError

from jobs.cli.asking import sql_views
from jobs.cli.asking.query_result import LakeQuery, QueryError, QueryResult
from jobs.cli.memory_bound import default_bound
from pipelines.dialects import DATA_FUSION
from pipelines.lake import SCHEMAS, Lake
from pipelines.lake.delta_rs import open_table, readable
from pipelines.sql_text import tables_named, writes
from replica.errors import KraftlakeError, UnreadableFileError
from replica.metadata.variant_reader import decode_variant

_SETTINGS = {
    "datafusion.catalog.information_schema": "true",
    # Names without quotes match in any case, as in Spark; delta-rs itself compares them exactly. In
    # other dialects a column called offset, after a comma, begins an OFFSET clause.
    "datafusion.sql_parser.dialect": "postgresql",
    "datafusion.sql_parser.enable_ident_normalization": "true",
}
_PLAN_ALONE = "datafusion.explain.logical_plan_only"
_READING_NODES = frozenset(
    {
        "Aggregate", "DescribeTable", "Distinct", "DistinctOn", "EmptyRelation",
        "Except", "Filter", "Intersect", "Limit", "PlaceholderRow", "Projection",
        "RecursiveQuery", "Repartition", "Sort", "Subquery", "SubqueryAlias", "TableScan",
        "Union", "Unnest", "Values", "WindowAggr",
    }
)  # fmt: skip
"""The nodes of DataFusion's logical plans that a query may have at its top. Nodes of COPY, DDL,
DML, SET and PREPARE also occur only at the top."""
_POOL_SHARE = 0.6
"""The share of the memory bound that DataFusion's memory pool gets, because DataFusion doesn't
count all its memory. A query that needs more than the pool writes to TMPDIR."""
_VARIANT_FIELDS = {"metadata", "value"}


def answer(query: LakeQuery) -> QueryResult:
    """Run the query, and give its result. Raises QueryError where it fails, also while rows are
    read."""
    return _result(read(query))


def rows(lake: Lake, sql: str) -> Iterator[Sequence[Any]]:
    """The rows of one of kraftlake's own queries. The lake must have all tables that the query
    names."""
    return OwnQueries(lake).rows(sql)


def named_rows(lake: Lake, sql: str) -> Iterator[dict[str, Any]]:
    """The rows that a query of kraftlake itself, not of a user, gives: each as a dictionary by
    column name. No two columns may have the same name."""
    return OwnQueries(lake).named_rows(sql)


class OwnQueries:
    """Runs kraftlake's own queries of one lake. It opens each table once, so that all answers about
    a table are of one version of the table."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._builder: QueryBuilder | None = None
        self._opened: set[str] = set()

    def rows(self, sql: str) -> Iterator[Sequence[Any]]:
        """The rows of a query, as by the function `rows`."""
        return self.answer(sql).rows

    def named_rows(self, sql: str) -> Iterator[dict[str, Any]]:
        """The rows of a query as dictionaries, as by the function `named_rows`."""
        return self.answer(sql).by_name()

    def answer(self, sql: str, tables: Collection[str] | None = None) -> QueryResult:
        """Run a query, which may only read, and give its result. tables: the lake's tables that the
        query names. With None they are found in its text, and the lake must have all of them.
        Raises QueryError as the function `answer` does."""
        if self._builder is None:
            self._builder = _builder(default_bound(), {})
        named = tables_named(sql) if tables is None else tables
        _register(self._builder, self._lake, [one for one in named if one not in self._opened])
        self._opened.update(named)
        with query_failures():
            return _result(AnswerBatches(self._builder.execute(sql)))


def _result(batches: AnswerBatches) -> QueryResult:
    fields: list[Any] = list(iter(batches.schema))
    columns = tuple(str(field.name) for field in fields)
    return QueryResult(columns, _rows(batches, [_converter(field) for field in fields], columns))


@dataclass(frozen=True, slots=True)
class AnswerBatches:
    """An answer in the form of delta-rs: Arrow batches, whose VARIANT columns are still structs of
    bytes.

    Each batch is read by a separate call of delta-rs. An Arrow stream would not do: a panic of
    delta-rs within a stream that Arrow reads ends the process. Raises QueryError while batches are
    read.
    """

    reader: Any

    @property
    def schema(self) -> Any:
        """The schema of all batches."""
        return self.reader.schema

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                with query_failures():
                    batch = self.reader.read_next_batch()
            except StopIteration:
                return
            yield batch


def read(query: LakeQuery) -> AnswerBatches:
    """The rows of the answer as Arrow batches. `answer` converts them to Python's values. Raises
    QueryError."""
    builder = _builder(query.memory or default_bound(), {_PLAN_ALONE: "true"})
    _register(builder, query.lake, query.tables)
    for statement in sql_views.statements(query.views, sql_views.DATA_FUSION, query.ends):
        builder.execute(statement).read_all()
    with query_failures():
        _refuse_other_plans(builder, query.sql)
        builder.execute(f"SET {_PLAN_ALONE} = false").read_all()
        return AnswerBatches(builder.execute(query.sql))


def _builder(memory: int, settings: Mapping[str, str]) -> QueryBuilder:
    """A QueryBuilder without tables. memory: the bound of memory in bytes."""
    builder = QueryBuilder({**_SETTINGS, **settings})
    pool = DATA_FUSION.literal(f"{int(memory * _POOL_SHARE) >> 20}M")
    builder.execute(f"SET datafusion.runtime.memory_limit = {pool}").read_all()
    for schema in SCHEMAS:
        builder.execute(f"CREATE SCHEMA {schema}").read_all()
    return builder


def _register(builder: QueryBuilder, lake: Lake, tables: Iterable[str]) -> None:
    for table in tables:
        with opened_table(lake, table) as opened:
            builder.register(DATA_FUSION.table(table), readable(opened))


def _refuse_other_plans(builder: QueryBuilder, query: str) -> None:
    """Raises UsageError for a text that does more than query, by DataFusion's own plan of it. The
    plan is made and not run, whatever the text is: after EXPLAIN FORMAT indent the parser takes
    exactly one statement."""
    try:
        explained = builder.execute(f"EXPLAIN FORMAT indent {query}").read_all()
    except DeltaError as error:
        if "Nested EXPLAIN" in str(error):  # it is an EXPLAIN itself, which runs nothing
            return
        raise
    nodes = str(explained.column("plan").to_pylist()[0]).split("\n")
    inner = (node.strip() for node in nodes if node.strip() not in ("Explain", "Analyze"))
    top = next(inner, "")
    found = re.match(r"\w+( Join)?", top)
    if found is None or (found[0] not in _READING_NODES and not found[1]):
        raise writes(found[0] if found else "")


@contextmanager
def query_failures() -> Iterator[None]:
    """Raises QueryError, of one line, for the errors of an engine. delta-rs raises Exception
    itself, and for its own bugs a PanicException, which isn't an Exception."""
    try:
        yield
    except (KraftlakeError, KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration):
        raise
    except BaseException as error:
        raise QueryError(line_of(error)) from error


@contextmanager
def opened_table(lake: Lake, table: str) -> Iterator[DeltaTable]:
    """Opens a table of the lake for the block of `with`.

    Raises UnreadableFileError where delta-rs or Arrow raises an error, while it opens the table or
    in the block. Arrow's own errors are ValueErrors.
    """
    uri = lake.table_uri(table)
    try:
        yield open_table(uri)
    except (DeltaError, TableNotFoundError, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableFileError(uri, line_of(error)) from error


def _rows(
    batches: Iterable[Any], converters: list[Callable[[Any], Any] | None], columns: tuple[str, ...]
) -> Iterator[Sequence[Any]]:
    for batch in batches:
        values = [
            _values(batch.column(index), convert, name)
            for index, (convert, name) in enumerate(zip(converters, columns, strict=True))
        ]
        yield from zip(*values, strict=True)


def _values(column: Any, convert: Callable[[Any], Any] | None, name: str) -> list[Any]:
    try:
        values = column.to_pylist()
    except (ValueError, OverflowError) as error:
        raise QueryError(f"column {name}: {line_of(error)}; cast it to VARCHAR") from error
    return values if convert is None else [convert(value) for value in values]


def _converter(field: Any) -> Callable[[Any], Any] | None:
    """The function that converts a column's values; None where they need no conversion: only a
    VARIANT needs one. Raises QueryError for an interval."""
    kind = str(field.type)
    if "Interval" in kind or "Duration" in kind:
        raise QueryError(f"column {field.name} is an interval: cast it to VARCHAR")
    return _decoded if is_variant(kind) else None


def is_variant(kind: str) -> bool:
    """Whether a type, in Arrow's notation, is a VARIANT or holds one."""
    return "metadata" in kind and "value" in kind and "binary" in kind.lower()


def _decoded(value: Any) -> Any:
    """The value. Each VARIANT in it, a struct of two fields at any depth, is replaced by its
    content."""
    if isinstance(value, dict):
        if value.keys() == _VARIANT_FIELDS and isinstance(value["metadata"], bytes):
            return decode_variant(value["value"], value["metadata"])
        return {key: _decoded(item) for key, item in value.items()}
    return [_decoded(item) for item in value] if isinstance(value, list) else value


def line_of(error: BaseException) -> str:
    """An engine's message in one line, without the engine's prefixes."""
    text = " ".join(str(error).split())
    for prefix in ("Error during planning: ", "SQL error: ", "Schema error: "):
        text = text.removeprefix(prefix)
    return text or type(error).__name__
