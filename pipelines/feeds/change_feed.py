"""A table's changes from Delta's change data feed, read by delta-rs without a JVM.

The feed's rows come in any order. A commit that replaced whole files has each row of these files
twice, as deleted and as inserted. Here the rows of a version are paired by the table's keys, and
only differences are changes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from itertools import groupby
from math import isfinite
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from pipelines.dialects import DATA_FUSION, Dialect, Sql
from pipelines.feeds.values import Feed, Op, Row, RowChange
from pipelines.lake.delta_log import refuse_commit_elsewhere
from pipelines.lake.delta_rs import batches_of, no_panic, open_table, queries
from pipelines.tables.contract import FEED_RETENTION_DAYS
from replica.errors import KraftlakeError, UnreadableFileError, UsageError

SLICE_ROWS = 250_000
"""About how many rows of a version are in memory at once: some 200 MB."""
_BATCH_ROWS = 10_000
_KIND, TIME = "_change_type", "_commit_timestamp"
_BEFORE = ("delete", "update_preimage")
_GONE = ("invalid table version", "not found", "no such file")

Read = Callable[[Sequence[str], str | None], pa.Table]
"""A function from columns and an SQL condition to the rows, in any order."""


class ChangeFeed:
    """The feed of one table. uri: the table's folder, in delta-rs's form.

    Raises UsageError where there is no such table, or another release wrote it, and
    UnreadableFileError where the store refuses. Both name the table.
    """

    dialect = DATA_FUSION

    def __init__(self, uri: str, feed: Feed) -> None:
        self.feed = feed
        self._uri = uri
        self._table = self._opened(None)
        self.table_id = str(self._table.metadata().id)
        missing = set(feed.contract.column_names) - {
            field.name for field in self._table.schema().fields
        }
        if missing:
            raise UsageError(
                f"{uri} was written by another release of kraftlake (it lacks "
                f"{', '.join(sorted(missing))}): build a new lake, or use that release"
            )

    def newest(self) -> int:
        """The newest version of the table. Raises UsageError where another table has replaced it
        since it was opened."""
        self._table = self._opened(None)
        if str(self._table.metadata().id) != self.table_id:
            raise UsageError(f"{self._uri} was made anew: begin anew with --restart")
        return int(self._table.version())

    def snapshot(self, version: int) -> Iterator[RowChange]:
        """All rows of a version, each as a change of the kind `read`."""
        for ordinal, row in enumerate(self.rows(version)):
            yield RowChange("read", version, ordinal, None, None, row)

    def rows(self, version: int) -> Iterator[Row]:
        """All rows of a version, in the feed's order."""
        names = self.feed.contract.column_names
        return _ordered(self._content_reader(version), names, self.feed.order, self.dialect)

    def _content_reader(self, version: int) -> Read:
        """A function that reads the rows of a version."""
        table = self._opened(version)

        def read(columns: Sequence[str], where: Sql | None) -> pa.Table:
            query = f"SELECT {', '.join(map(DATA_FUSION.identifier, columns))} FROM t"
            condition = "" if where is None else f" WHERE {where}"
            return self._collected(
                version, lambda: queries({"t": table}).execute(query + condition)
            )

        return read

    def changes(self, version: int) -> Iterator[RowChange]:
        """The changes of the version's commit. Raises UnreadableFileError where they can't be read,
        and where the commit names files outside of the table's folder."""
        refuse_commit_elsewhere(self._uri, version)
        columns = (*self.feed.contract.column_names, _KIND, TIME)
        rows = _ordered(self._feed_reader(version), columns, self.feed.order, self.dialect)
        return _paired(rows, self.feed.contract.keys, version)

    def _feed_reader(self, version: int) -> Read:
        """A function that reads the rows of the change data feed of a version."""

        def read(columns: Sequence[str], where: Sql | None) -> pa.Table:
            return self._collected(
                version,
                lambda: self._table.load_cdf(
                    starting_version=version,
                    ending_version=version,
                    columns=list(map(DATA_FUSION.identifier, columns)),
                    predicate=where,
                ),
            )

        return read

    def _opened(self, version: int | None) -> DeltaTable:
        try:
            return open_table(self._uri, version)
        except TableNotFoundError as error:
            raise UsageError(
                f"{self._uri} is no table: run `kraftlake build --lake` first, or name another lake"
            ) from error
        except (DeltaError, OSError) as error:
            raise self._unreadable(version, error) from error

    def _collected(self, version: int, read: Callable[[], Any]) -> pa.Table:
        try:
            with no_panic(self._uri):
                found = read()
                return pa.Table.from_batches(batches_of(found), pa.schema(found.schema))
        except KraftlakeError:
            raise
        except Exception as error:  # delta-rs raises Exception itself where a file is missing.
            raise self._unreadable(version, error) from error

    def _unreadable(
        self, version: int | None, error: Exception
    ) -> UsageError | UnreadableFileError:
        text = _line(error)
        if version is None or not any(word in text.lower() for word in _GONE):
            return UnreadableFileError(self._uri, text)
        return UsageError(
            f"{self._uri}: version {version} can't be read any more (Delta keeps changes for "
            f"{FEED_RETENTION_DAYS} days): begin anew with --restart"
        )


def _paired(
    rows: Iterator[dict[str, Any]], keys: tuple[str, ...], version: int
) -> Iterator[RowChange]:
    """A change for each key whose row differs, from the rows of one version, which are sorted by
    key."""
    ordinal = 0
    for _, same in groupby(rows, key=itemgetter(*keys)):
        before = after = committed_at = None
        for row in same:
            kind, committed_at = row.pop(_KIND), row.pop(TIME)
            if kind in _BEFORE:
                before = row
            else:
                after = row
        if before != after:
            yield RowChange(_op(before, after), version, ordinal, committed_at, before, after)
            ordinal += 1


def _op(before: Row | None, after: Row | None) -> Op:
    if before is None:
        return "insert"
    return "delete" if after is None else "update"


def _ordered(
    read: Read, columns: Sequence[str], order: Sequence[str], dialect: Dialect
) -> Iterator[dict[str, Any]]:
    """The rows sorted by `order`, NULL last. They are read in slices of the first column, where it
    holds whole numbers."""
    for where in _slices(read, order[0], dialect):
        table = _plain(read(columns, where))
        in_order = table.sort_by([(name, "ascending") for name in order])
        is_simple = all(_is_of_json(field.type) for field in table.schema)
        for batch in in_order.to_batches(max_chunksize=_BATCH_ROWS):
            yield from batch.to_pylist() if is_simple else map(_in_json, batch.to_pylist())


def _slices(read: Read, column: str, dialect: Dialect) -> Iterator[Sql | None]:
    """SQL conditions that cut the rows, in order, into pieces of about SLICE_ROWS."""
    values = read([column], None).column(column)
    if len(values) <= SLICE_ROWS or not pa.types.is_integer(values.type):
        yield None
        return
    name, numbers = dialect.identifier(column), pc.drop_null(values).combine_chunks()
    in_order = numbers.take(pc.array_sort_indices(numbers))
    bounds = list(dict.fromkeys(in_order[SLICE_ROWS::SLICE_ROWS].to_pylist()))
    for low, high in zip((None, *bounds), (*bounds, None), strict=True):
        above = "" if low is None else f" AND {name} >= {low:d}"
        below = "" if high is None else f" AND {name} < {high:d}"
        yield f"{name} IS NOT NULL{above}{below}"
    if values.null_count:
        yield f"{name} IS NULL"


def _plain(table: pa.Table) -> pa.Table:
    """The table with times as ms since 1970 (UTC), and texts in a type that pyarrow can sort."""
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            times = table.column(index).cast(pa.timestamp("ms", field.type.tz), safe=False)
            table = table.set_column(index, field.name, times.cast(pa.int64()))
        elif (kind := _sortable(field.type)) != field.type:
            table = table.set_column(index, field.name, table.column(index).cast(kind))
    return table


def _sortable(kind: pa.DataType) -> pa.DataType:
    """The type without views of texts and bytes, which pyarrow can't sort."""
    types = pa.types
    if types.is_string_view(kind):
        return pa.string()
    if types.is_binary_view(kind):
        return pa.binary()
    if types.is_list(kind) or types.is_large_list(kind) or types.is_list_view(kind):
        return pa.list_(_sortable(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([(one.name, _sortable(one.type)) for one in kind])
    return kind


def _is_of_json(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_boolean(kind) or types.is_string(kind))


def _in_json(value: Any) -> Any:
    """The value in JSON's types: a time as ms since 1970, a day as text, bytes in Base64. A number
    that JSON lacks (NaN, infinity) is null."""
    match value:
        case dict():
            return {name: _in_json(one) for name, one in value.items()}
        case list():
            return [*map(_in_json, value)]
        case datetime():
            return int(value.timestamp() * 1000)
        case date():
            return value.isoformat()
        case bytes():
            return b64encode(value).decode()
        case float():
            return value if isfinite(value) else None
    return value


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
