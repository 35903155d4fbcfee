"""The columns about neighbours that are computed over Arrow: the same as by the SQL of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from datafusion import SessionContext
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.quality.expectation import ROWS_OF_KEY, Beside, Suite, suite
from pipelines.quality.neighbours import with_neighbours
from pipelines.quality.suite_sql import judged_rows, table_name
from pipelines.quality.suites import SUITES
from pipelines.tables import gold

_HISTORY = SUITES[gold.METADATA_HISTORY.name]
_EDGES = st.sampled_from([None, 0, 1, 2, -(2**63), 2**63 - 1])
_TEXTS = st.sampled_from([None, "", "a", "b"])
_ROWS = st.lists(st.tuples(_TEXTS, _TEXTS, _TEXTS, _EDGES), max_size=12)
_BOTH_WAYS = suite(
    gold.METADATA_HISTORY,
    beside={
        "before": Beside("valid_from_offset", ("cluster_id",), "valid_from_offset", is_before=True),
        **_HISTORY.beside,
    },
)


def _table(rows: list[tuple[Any, ...]], chunks: int = 1) -> pa.Table:
    names = (*_HISTORY.beside["next_from"].within, "valid_from_offset")
    kinds = pa.schema(
        [(name, gold.METADATA_HISTORY.arrow_schema.field(name).type) for name in names]
    )
    whole = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], kinds)
    size = max(1, len(rows) // chunks)
    return pa.concat_tables(
        [kinds.empty_table(), *(whole[at : at + size] for at in range(0, len(rows), size))]
    )


def _by_sql(of: Suite, rows: pa.Table) -> pa.Table:
    context = SessionContext()
    batches = rows.to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]
    context.register_record_batches(table_name(of.name), [batches])
    return context.sql(judged_rows(of)).to_arrow_table()


def _sorted(rows: pa.Table, names: list[str]) -> list[str]:
    return sorted(map(repr, rows.select(names).to_pylist()))


@settings(deadline=None)
@given(_ROWS, st.integers(1, 3))
def test_neighbours_are_those_of_the_sql(rows: list[tuple[Any, ...]], chunks: int) -> None:
    table = _table(rows, chunks)
    found, told = with_neighbours(_BOTH_WAYS, table), _by_sql(_BOTH_WAYS, table)
    columns = [*table.column_names, ROWS_OF_KEY]
    assert _sorted(found, columns) == _sorted(told, columns)
    for name, of in _BOTH_WAYS.beside.items():  # no order is told of rows with the same value in it
        columns = [*of.within, of.by, name]
        assert _sorted(found, columns) == _sorted(told, columns)


def test_values_that_need_more_than_64_bits_together_are_told_apart() -> None:
    ends = (None, -(2**63), 0, 2**63 - 1)
    rows = [(one, two, "k", end) for one in "ab" for two in "cd" for end in ends]
    table = _table([*rows, rows[3]])
    found = with_neighbours(_BOTH_WAYS, table)
    assert found[ROWS_OF_KEY].to_pylist() == [
        2 if row == rows[3] else 1 for row in [*rows, rows[3]]
    ]
    assert _sorted(found, ["key", "next_from"]) == _sorted(
        _by_sql(_BOTH_WAYS, table), ["key", "next_from"]
    )


@pytest.mark.parametrize("kind", [pa.float64(), pa.list_(pa.int64())])
def test_what_sql_alone_can_compare_is_left_to_sql(kind: pa.DataType) -> None:
    """Such as the key of a table that a user has added."""
    table = _table([("c", "e", "k", 1)])
    where = table.column_names.index("key")
    odd = table.set_column(where, "key", pa.array([None], kind))
    assert with_neighbours(_HISTORY, odd).column_names == odd.column_names


def test_every_table_that_is_judged_in_memory_needs_no_window_for_its_keys() -> None:
    missing = {
        name: {ROWS_OF_KEY, *one.beside} - {*with_neighbours(one, _empty(one)).column_names}
        for name, one in SUITES.items()
    }
    assert not {name: columns for name, columns in missing.items() if columns}


def _empty(of: Suite) -> pa.Table:
    schema: Mapping[str, Any] = of.contract.arrow_schema
    return schema.empty_table()  # type: ignore[attr-defined, no-any-return]
