"""Small tables, read by delta-rs into one partition of Spark.

Spark runs three jobs to open a Delta table and one more for each query of it, and it shuffles what
it computes from several partitions: for some thousand rows this takes far longer than the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from pipelines.delta.tables import open_newest, read
from pipelines.dialects import DATA_FUSION, Dialect, Sql
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_table, queries
from pipelines.tables.contract import Contract
from pipelines.tables.keys import REPLICA_KEYS
from replica.model.keys import ReplicaId

_MOST_PRUNED = 20
"""By an IN with more values than this, DataFusion leaves no file out."""
_SMALL_ROWS = 100_000
_SMALL_BYTES = 16 * 1024 * 1024
"""A table with more bytes of Parquet files than this is not small. In memory the rows take a few
times as much."""


@dataclass(frozen=True)
class TableSize:
    """A table's newest version and its size. row_count: the number of rows by the table's log; None
    where the log doesn't tell it."""

    version: int
    row_count: int | None
    size_bytes: int

    @property
    def is_small(self) -> bool:
        """Whether it is faster to read the rows once, into one partition."""
        few = self.row_count is not None and self.row_count <= _SMALL_ROWS
        return few and self.size_bytes <= _SMALL_BYTES


@dataclass(frozen=True)
class TableRows:
    """A table's rows at its newest version. is_small: whether they are in one partition."""

    version: int
    row_count: int
    rows: DataFrame
    is_small: bool


def size(lake: Lake, contract: Contract) -> TableSize:
    """The size of the table. Raises UsageError where the lake has no such table."""
    return size_of(open_newest(lake, contract))


def read_newest(spark: SparkSession, lake: Lake, contract: Contract) -> TableRows:
    """The table's rows. The rows of a small table pass through this process's memory; Spark reads
    the others.

    Raises UsageError where the lake has no such table.
    """
    table = open_newest(lake, contract)
    held = size_of(table)
    if held.is_small:
        rows = _read_small(spark, table, contract)
    else:
        rows = read(spark, lake, contract, version=held.version)
    count = rows.count() if held.row_count is None else held.row_count
    return TableRows(held.version, count, rows, held.is_small)


def values(
    lake: Lake, contract: Contract, columns: Sequence[str], where: Sql = "true"
) -> list[dict[str, Any]]:
    """Columns of the rows that fulfil a condition in SQL, read without Spark. Times are aware.
    Raises UsageError where the lake has no such table."""
    query = f"SELECT {DATA_FUSION.columns(columns)} FROM t WHERE {where}"
    found: list[dict[str, Any]] = answer(lake, contract, query).to_pylist()
    return found


def rows_where(
    lake: Lake, contract: Contract, where: Sql, version: int, join: Sql = ""
) -> pa.Table:
    """The rows of a version that fulfil a condition in SQL, in the contract's Arrow schema, read
    without Spark. join: as in columns_of. Raises UsageError where the lake has no such table."""
    return content(_table_at(lake, contract, version), contract, where, join)


def columns_of(
    table: DeltaTable,
    contract: Contract,
    names: Sequence[str],
    where: Sql = "true",
    join: Sql = "",
) -> pa.Table:
    """Columns of the table's rows that fulfil a condition in SQL, in the contract's types. join:
    what the table t is joined to, of whose columns none has a name of the table's. Raises what
    delta-rs raises."""
    query = f"SELECT {DATA_FUSION.columns(names)} FROM t {join} WHERE {where}"
    return in_types(_answer_of(table, query), contract.arrow_columns(names))


def answer(lake: Lake, contract: Contract, query: Sql, version: int | None = None) -> pa.Table:
    """The answer to an SQL query about the table, which the query names t; by default at its newest
    version. Raises UsageError where the lake has no such table."""
    return _answer_of(_table_at(lake, contract, version), query)


def _answer_of(table: DeltaTable, query: Sql) -> pa.Table:
    return pa.table(queries({"t": table}).execute(query).read_all())


def _table_at(lake: Lake, contract: Contract, version: int | None) -> DeltaTable:
    """The table at a version; None opens the newest one."""
    table = open_newest(lake, contract)
    if version is None or version == table.version():
        return table
    return open_table(lake.table_uri(contract.name), version)


def joined_to(
    replicas: Sequence[ReplicaId], bounds: Mapping[str, Sequence[int]] | None = None
) -> Sql:
    """SQL of delta-rs that joins the table t to a relation w, so that the rows of these replicas
    are left: a row of the table for each row of w with its replica. There is a replica.

    w has `number`, the place of the replica in the sequence, and a column for each name in
    `bounds`, with a whole number for each replica. The work is a hash join. A condition with a term
    for each replica would be asked of each row.
    """
    bounds = bounds or {}
    keys = zip(*map(astuple, replicas), strict=True)
    rows = zip(range(len(replicas)), *keys, *bounds.values(), strict=True)
    own = [f"own_{name}" for name in REPLICA_KEYS]
    relation = DATA_FUSION.relation("w", ["number", *own, *bounds], rows)
    same = " AND ".join(
        f"{DATA_FUSION.identifier('t', name)} = {DATA_FUSION.identifier('w', mine)}"
        for name, mine in zip(REPLICA_KEYS, own, strict=True)
    )
    clusters = {replica.cluster_id for replica in replicas}
    few = DATA_FUSION.of_clusters(sorted(clusters)) if len(clusters) <= _MOST_PRUNED else "true"
    return f"JOIN {relation} ON {same} AND {few}"


def of_replica(replica: ReplicaId, dialect: Dialect = DATA_FUSION) -> Sql:
    """SQL condition: the rows of one replica, by which Delta leaves files out."""
    each = asdict(replica).items()
    return " AND ".join(f"{dialect.identifier(name)} = {dialect.literal(at)}" for name, at in each)


def size_of(table: DeltaTable) -> TableSize:
    """The size at the version at which the table was opened."""
    files = pa.table(table.get_add_actions())
    counts = files.column("num_records").to_pylist()
    row_count = None if None in counts else sum(counts)
    return TableSize(table.version(), row_count, sum(files.column("size_bytes").to_pylist()))


def _read_small(spark: SparkSession, table: DeltaTable, contract: Contract) -> DataFrame:
    rows = content(table, contract)
    return dataframe_of(spark, rows, contract.schema).coalesce(1)


def content(table: DeltaTable, contract: Contract, where: Sql = "true", join: Sql = "") -> pa.Table:
    """The table's rows that fulfil a condition in SQL, in the contract's types. join: as in
    columns_of. Raises what delta-rs raises."""
    if not table.file_uris():
        return contract.arrow_schema.empty_table()
    return columns_of(table, contract, contract.column_names, where, join)


def in_types(found: pa.Table, schema: pa.Schema) -> pa.Table:
    """delta-rs's answer in the types of a schema."""
    columns = [_as(found.column(field.name), field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _as(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """The column in the field's type. delta-rs gives texts and bytes as views, and a VARIANT's
    fields in another order."""
    if not _is_variant(field):
        return column.cast(field.type)
    return pa.chunked_array([_variant(chunk, field.type) for chunk in column.chunks], field.type)


def _is_variant(field: pa.Field) -> bool:
    kind = field.type
    return pa.types.is_struct(kind) and any(
        (kind.field(k).metadata or {}).get(b"variant") for k in range(kind.num_fields)
    )


def _variant(chunk: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    fields = [kind.field(k) for k in range(kind.num_fields)]
    parts = [chunk.field(field.name).cast(field.type).fill_null(b"") for field in fields]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=chunk.is_null())


def dataframe_of(
    spark: SparkSession, rows: pa.Table, schema: StructType | None = None
) -> DataFrame:
    """All rows of an Arrow table as a DataFrame. schema: their types in Spark; by default those
    that Spark takes for Arrow's.

    SparkSession.createDataFrame stops at a piece of the table without rows, unless it is the first
    one, and loses all rows behind it (Spark 4.2.0). A table that was joined from others, or
    filtered, may have such pieces, so they are left out here.
    """
    if schema is None:
        schema = from_arrow_schema(rows.schema, prefer_timestamp_ntz=False)
    pieces = [piece for piece in rows.to_batches() if piece.num_rows]
    if not pieces:
        return spark.createDataFrame([], schema)
    return spark.createDataFrame(pa.Table.from_batches(pieces, rows.schema), schema)
