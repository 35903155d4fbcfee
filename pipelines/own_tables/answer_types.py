"""The types that columns of own tables have: from the Arrow types of their rows to the types of a
contract."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pyarrow as pa
import pyarrow.types as kinds

from pipelines.own_tables.errors import OwnTableError
from pipelines.tables.contract import Column, Contract

_SIMPLE: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (kinds.is_boolean, "boolean"),
    (lambda kind: kinds.is_int64(kind) or kinds.is_uint32(kind), "bigint"),
    (kinds.is_uint64, "bigint"),
    (kinds.is_integer, "int"),
    (lambda kind: kinds.is_decimal(kind) and kind.scale == 0, "bigint"),  # a sum of bigint
    (kinds.is_decimal, "double"),
    (kinds.is_floating, "double"),
    (kinds.is_string, "string"),
    (kinds.is_large_string, "string"),
    (kinds.is_string_view, "string"),
    (kinds.is_binary, "binary"),
    (kinds.is_large_binary, "binary"),
    (kinds.is_date, "date"),
    (kinds.is_timestamp, "timestamp"),
)


def columns_of(
    schema: pa.Schema, meanings: Mapping[str, str], keys: Collection[str]
) -> tuple[Column, ...]:
    """The columns of a table with rows of this schema. meanings: descriptions by name. keys: the
    columns that have a value in each row. Raises OwnTableError for a type that no table has, and
    for a description of a column that the rows lack."""
    unknown = sorted({*meanings} - {*schema.names})
    if unknown:
        raise OwnTableError(f"column {unknown[0]!a} is described, but the rows don't have it")
    return tuple(
        Column(
            field.name,
            _ddl(field.name, field.type),
            meanings.get(field.name, "as the query gives it"),
            nullable=field.name not in keys,
        )
        for field in schema
    )


def _ddl(name: str, kind: pa.DataType) -> str:
    if kinds.is_dictionary(kind):
        return _ddl(name, kind.value_type)
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        return f"array<{_ddl(name, kind.value_type)}>"
    if kinds.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        if all(one.name.isidentifier() for one in fields):
            return f"struct<{','.join(f'{one.name}:{_ddl(name, one.type)}' for one in fields)}>"
    for is_kind, ddl in _SIMPLE:
        if is_kind(kind):
            return ddl
    raise OwnTableError(f"column {name!a} is of type {kind}, which no table has: cast it")


def conforming(answer: pa.Table, contract: Contract) -> pa.Table:
    """The rows of `answer` in the contract's columns and types. Raises OwnTableError where a column
    is missing or not in the contract, where a value is missing that the contract wants, and where a
    value would be lost."""
    missing = [one for one in contract.column_names if one not in answer.column_names]
    if missing:
        raise OwnTableError(f"column {missing[0]} of its contract is missing in its rows")
    others = sorted({*answer.column_names} - {*contract.column_names})
    if others:
        raise OwnTableError(f"column {others[0]!a} of its rows is not in its contract")
    columns = []
    for field in contract.arrow_schema:
        column = answer.column(field.name)
        if column.null_count and not field.nullable:
            raise OwnTableError(
                f"column {field.name} has no value in {column.null_count} rows, and its contract "
                "wants one"
            )
        try:
            columns.append(_cast(column, field.type))
        except pa.ArrowException as error:
            line = " ".join(str(error).split())
            raise OwnTableError(f"column {field.name} is no {field.type}: {line}") from error
    return pa.Table.from_arrays(columns, schema=contract.arrow_schema)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The column in the type, without a loss. A time without a zone is taken for UTC, and a decimal
    fraction becomes the nearest double."""
    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(kind)
