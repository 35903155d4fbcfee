"""Lakes of invented rows, and rows that break each expectation of a suite, made without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipelines.delta import Lake, add_values, ensure_table
from pipelines.quality.expectation import BETWEEN, IN_SET, Expectation, Suite
from pipelines.quality.suites import SUITES
from pipelines.tables.bronze import BRONZE
from pipelines.tables.contract import Contract
from replica.metadata.variant import encode_variant
from tests.pipelines.quality.broken_rows import GOOD, Example, Row, all_examples

_EMPTY_OBJECT = dict(zip(("value", "metadata"), encode_variant({}), strict=True))
_MARKED = ("cluster_id", "capture_id")


def lake_of(folder: Path, tables: Mapping[Contract, Iterable[Row]]) -> Lake:
    """A lake with these tables and rows, in which every column may be NULL."""
    lake = Lake(folder)
    for contract, rows in tables.items():
        ensure_table(lake, loose(contract))
        values = [values_of(row, contract.arrow_schema) for row in rows]
        add_values(lake, loose(contract), values)
    return lake


def loose(contract: Contract) -> Contract:
    """The contract with columns that may all be NULL."""
    columns = tuple(replace(column, nullable=True) for column in contract.columns)
    return replace(contract, columns=columns)


def lake_of_example(folder: Path, suite: Suite, example: Example) -> tuple[Lake, list[Contract]]:
    """A lake with the suite's table and the table that it joins; and both tables' contracts."""
    tables: dict[Contract, Iterable[Row]] = {suite.contract: example.rows}
    if suite.joined is not None:
        tables[suite.joined.contract] = example.other
    return lake_of(folder, tables), list(tables)


def tables_of_example(suite: Suite, example: Example) -> dict[Contract, pa.Table]:
    """The rows of the suite's table, and of the table that it joins, in types that may all be NULL.
    Rows of the joined table take values that an example lacks from the table's own good row."""
    rows = {suite.contract: _table(suite.contract, example.rows)}
    if suite.joined is not None:
        other = suite.joined.contract
        good = GOOD[other.name].rows[0]
        rows[other] = _table(other, [good | row for row in example.other])
    return rows


def _table(contract: Contract, rows: Iterable[Row]) -> pa.Table:
    schema = loose(contract).arrow_schema
    return pa.Table.from_pylist([values_of(row, schema) for row in rows], schema)


def lake_of_bronze(folder: Path, **changed: Mapping[str, Any]) -> Lake:
    """A lake with all tables of bronze. Their rows satisfy every suite, except the changed columns
    in the first row of a table. changed: by table name without the schema."""
    changes = {"snapshots": {"record_count": 2}, **changed}
    return lake_of(
        folder,
        {
            contract: GOOD[contract.name].changed(**changes.get(contract.table_name, {})).rows
            for contract in BRONZE
        },
    )


def whole_example(name: str) -> Example:
    """The good rows, rows broken in every way that BROKEN has, and for each expectation of the
    table rows with a value that breaks it, or with a NULL in one of its columns.

    Each is in a cluster and a capture of its own, because windows and joins are by keys.
    """
    examples = [example for _, example in all_examples(name)]
    suite = SUITES[name]
    twice = replace(GOOD[name], rows=(*GOOD[name].rows, GOOD[name].rows[0]))
    examples += [twice, *(one for of in suite.expectations for one in _breaking(suite, of))]
    return Example(
        tuple(_marked(row, number) for number, one in enumerate(examples) for row in one.rows),
        tuple(_marked(row, number) for number, one in enumerate(examples) for row in one.other),
    )


def _breaking(suite: Suite, expectation: Expectation) -> Iterator[Example]:
    good = GOOD[suite.name]
    if expectation.type == IN_SET:
        yield good.changed(**{expectation.columns[0]: "no known value"})
    if expectation.type == BETWEEN:
        yield good.changed(**{expectation.columns[0]: expectation.kwargs["min_value"] - 1})
    for column in expectation.columns:
        yield good.changed(**{column: None})


def _marked(row: Row, number: int) -> Row:
    return row | {name: f"{number}" for name in _MARKED if row.get(name)}


def values_of(row: Row, schema: pa.Schema) -> Row:
    """An example's row in the form of a table, in which structs are tuples."""
    return {field.name: _value(row.get(field.name), field.type) for field in schema}


def _value(value: Any, kind: pa.DataType) -> Any:
    """A value in a table's form. The examples have a struct as a tuple, and a VARIANT as "{}"."""
    if pa.types.is_list(kind) and value is not None:
        return [_value(one, kind.value_type) for one in value]
    if value == "{}" and pa.types.is_struct(kind):
        return _EMPTY_OBJECT
    if isinstance(value, tuple):
        names = [kind.field(number).name for number in range(kind.num_fields)]
        return dict(zip(names, value, strict=True))
    return value
