"""Tables opened by delta-rs, which needs no JVM: of local lakes and of those in object stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from deltalake import DeltaTable, QueryBuilder, WriterProperties
from deltalake.exceptions import DeltaError, TableNotFoundError

from pipelines.lake import Lake
from pipelines.lake.delta_log import refuse_odd_log, refuse_other_protocol
from pipelines.lake.footers import refuse_lying_footers
from pipelines.lake.library_text import escape_library_text
from pipelines.lake.links import refuse_paths_elsewhere
from pipelines.object_store import is_s3, meaning, storage_options
from replica.errors import UnreadableFileError

if TYPE_CHECKING:
    import pyarrow as pa

_LOCAL = "file://"
WRITER = WriterProperties(compression="SNAPPY", statistics_truncate_length=32)
"""The properties of every commit in which delta-rs writes rows. The statistics in a table's log
keep the first 32 characters of the least and the greatest text of a column, as Spark's do;
delta-rs's default is 64."""


def open_table(uri: str, version: int | None = None) -> DeltaTable:
    """Open a table at a version; None opens the newest one. uri: the form of Lake.table_uri.

    Raises what deltalake raises: TableNotFoundError, DeltaError, OSError. Raises
    UnreadableFileError where an object store refuses, and for a table with a file outside its
    folder, with a log or protocol that kraftlake doesn't write, with statistics that don't fit its
    schema, or for which delta-rs fails by a bug of its own.
    """
    escape_library_text()
    try:
        refuse_odd_log(uri)
        with no_panic(uri):
            table = DeltaTable(uri, version=version, storage_options=storage_options(uri))
        protocol = table.protocol()
        refuse_other_protocol(uri, protocol.min_reader_version, protocol.reader_features)
        refuse_paths_elsewhere(uri, table.get_add_actions().column("path").to_pylist())
        return table
    except ValueError as error:  # Arrow's, about statistics that don't fit the schema.
        raise UnreadableFileError(uri, f"delta-rs can't read it: {str(error)[:200]!a}") from error
    except (DeltaError, OSError) as error:
        means = meaning(str(error)) if is_s3(uri) else None
        if means is None:
            raise
        raise UnreadableFileError(uri, means) from error


@contextmanager
def no_panic(place: str) -> Iterator[None]:
    """Raises UnreadableFileError where delta-rs fails by a bug of its own, a panic, which is no
    Exception in Python."""
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise UnreadableFileError(place, f"delta-rs can't read it: {str(error)[:200]!a}") from error


def open_if_there(lake: Lake, name: str) -> DeltaTable | None:
    """Open a lake's table by its name, such as bronze.captures. None where the lake has no such
    table.

    Raises what open_table raises, except TableNotFoundError.
    """
    try:
        return open_table(lake.table_uri(name))
    except TableNotFoundError:
        return None


def queries(tables: Mapping[str, DeltaTable]) -> QueryBuilder:
    """An object of delta-rs that answers SQL queries of these tables. tables: by the names that the
    queries use. Raises what `readable` raises."""
    builder = QueryBuilder()
    for name, table in tables.items():
        builder.register(name, readable(table))
    return builder


def readable(table: DeltaTable) -> DeltaTable:
    """The table, once its data files are checked. Raises UnreadableFileError for a file that would
    make delta-rs panic."""
    added = table.get_add_actions()
    paths, sizes = (added.column(name).to_pylist() for name in ("path", "size_bytes"))
    folder = table.table_uri.rstrip("/")
    if folder.startswith(_LOCAL):
        folder = unquote(folder.removeprefix(_LOCAL))
    refuse_lying_footers(folder, zip(paths, sizes, strict=True))
    return table


def batches_of(answer: Any) -> Iterator[pa.RecordBatch]:
    """The batches of delta-rs' answer. Each batch comes by a separate call of delta-rs: a panic of
    delta-rs within a stream that Arrow reads would end the process without a message."""
    import pyarrow as pa  # most questions need only delta-rs

    for batch in answer:
        yield pa.record_batch(batch)


def rows_of(table: DeltaTable, query: str) -> list[dict[str, Any]]:
    """The answer to a query of the table, which the query calls t. Raises what delta-rs raises:
    Exception itself where a data file is missing."""
    found = queries({"t": table}).execute(query).read_all()
    columns = {name: found.column(name).to_pylist() for name in found.column_names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def newest_versions(lake: Lake, names: Iterable[str]) -> dict[str, int]:
    """The newest version of each of these tables that the lake has, by name."""
    return {name: version for name, (_, version) in newest_states(lake, names).items()}


def newest_states(lake: Lake, names: Iterable[str]) -> dict[str, tuple[str, int]]:
    """The id and newest version of each of these tables that the lake has, by name. A table keeps
    its id as long as it exists, even when it is copied elsewhere."""
    opened = ((name, open_if_there(lake, name)) for name in names)
    return {
        name: (str(table.metadata().id), table.version())
        for name, table in opened
        if table is not None
    }
