"""Reads a few rows of a table into this process, by SQL of delta-rs and without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from pipelines.delta.tables import open_newest
from pipelines.dialects import DATA_FUSION, Dialect, Sql
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_table, queries
from pipelines.tables.contract import Contract
from pipelines.tables.keys import REPLICA_KEYS
from replica.model.keys import ReplicaId

_MOST_PRUNED = 20
"""With more values than this in an IN, DataFusion skips no file."""


def version(lake: Lake, contract: Contract) -> int:
    """The table's newest version. Raises UsageError where the lake has no such table."""
    return int(open_newest(lake, contract).version())


def values(
    lake: Lake, contract: Contract, columns: Sequence[str], where: Sql = "true"
) -> list[dict[str, Any]]:
    """Columns of the rows that fulfil a condition in SQL, read without Spark. Times have a time
    zone (UTC). Raises UsageError where the lake has no such table."""
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
    the SQL that joins the table t to another relation, whose columns have other names than the
    table's. Raises what delta-rs raises."""
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
    """SQL of delta-rs that joins the table t to a relation w. It gives a row of the table for each
    row of w with its replica, so only rows of these replicas are left. There is at least one
    replica.

    w has `number`, the index of the replica in the sequence, and a column for each name in
    `bounds`, with a whole number for each replica. The work is a hash join. A condition with a term
    for each replica would be computed for each row.
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
    """SQL condition for the rows of one replica. With this condition Delta skips files."""
    each = asdict(replica).items()
    return " AND ".join(f"{dialect.identifier(name)} = {dialect.literal(at)}" for name, at in each)


def row_count(table: DeltaTable) -> int | None:
    """The number of rows at the version at which the table was opened, by its log; None where the
    log lacks the number of a file's rows."""
    counts = pa.table(table.get_add_actions()).column("num_records").to_pylist()
    return None if None in counts else sum(counts)


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
