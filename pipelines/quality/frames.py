"""The judged rows of a small table as Great Expectations reads them with pandas.

A frame has the columns that are shown of rows which break an expectation, with the Python values
that Spark would give. For each condition it has a column, named by `verdict_column`, that says
whether a row satisfies the condition, by DataFusion or by the condition's predicate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.quality.expectation import ROW, Expectation, Suite
from pipelines.quality.suite_sql import is_satisfied, quoted
from pipelines.quality.unbroken import QueryableTables

_Values = npt.NDArray[np.object_]


def frame(layer: QueryableTables, suite: Suite, judged: str) -> pd.DataFrame:
    """The rows in the order of the table's keys, as in pipelines.quality.gate.in_order.

    judged: SQL of the suite's judged rows. Raises what delta-rs raises.
    """
    conditions = {f"c{n}": one for n, one in enumerate(suite.expectations) if one.type == ROW}
    rows = layer.answer(_query(suite, judged, conditions))
    satisfied = {
        verdict_column(one.kwargs["condition"]): _satisfied(rows, name, one)
        for name, one in conditions.items()
    }
    is_shown = ~np.logical_and.reduce([*satisfied.values()])
    shown = {
        name: pd.Series(_values(rows[name], is_shown), dtype=object)  # None and not NaT for NULL
        for name in _shown(suite)
    }
    return pd.DataFrame({**shown, **satisfied})


def verdict_column(condition: str) -> str:
    """The name of the column that says which rows satisfy the condition. A condition can be the
    name of a column of the table, such as `agrees`, so the condition's text alone is no name."""
    return f"satisfies: {condition}"


def _shown(suite: Suite) -> list[str]:
    """The keys, and the column by which Great Expectations names an expectation."""
    first = (one.columns[0] for one in suite.expectations if one.columns)
    return list(dict.fromkeys((*suite.contract.keys, *first)))


def _query(suite: Suite, judged: str, conditions: Mapping[str, Expectation]) -> str:
    """SQL of the shown columns, and of the values of conditions and predicates. conditions: by the
    name of the column that says whether a row satisfies them."""
    wanted = [name for one in suite.expectations if one.predicate for name in one.columns]
    columns = [
        *quoted(list(dict.fromkeys((*_shown(suite), *wanted)))),
        *(f"{is_satisfied(one)} AS {n}" for n, one in conditions.items() if one.predicate is None),
    ]
    order = ", ".join(f"{key} NULLS FIRST" for key in quoted(suite.contract.keys))
    return f"SELECT {', '.join(columns)} FROM ({judged}) ORDER BY {order}"  # noqa: S608 - the suites are our own text


def _satisfied(rows: pa.Table, name: str, expectation: Expectation) -> npt.NDArray[np.bool_]:
    """Whether each row satisfies the condition. name: the column with DataFusion's answer, which
    counts where the condition has no predicate."""
    if expectation.predicate is None:
        return np.asarray(rows[name].to_numpy(), dtype=np.bool_)
    columns = [rows[column].to_pylist() for column in expectation.columns]
    told = [expectation.predicate(*values) for values in zip(*columns, strict=True)]
    return np.asarray(told, dtype=np.bool_)


def _values(column: pa.ChunkedArray, is_shown: npt.NDArray[np.bool_]) -> _Values:
    """The column's values. Equal values are one object: keys are long texts, and few differ. Nested
    values are JSON, because pandas can't hash lists. Where is_shown is False, nested values are
    empty texts: a table of payloads would need much memory."""
    found = np.empty(len(column), dtype=object)
    if pa.types.is_nested(column.type):
        found[np.asarray(column.is_valid().to_numpy(), dtype=np.bool_)] = ""
        for number in np.flatnonzero(is_shown):
            found[number] = _nested(column[int(number)].as_py())
        return found
    values = _without_views(column).combine_chunks()
    whole = pc.dictionary_encode(values, null_encoding="encode")
    distinct = np.empty(len(whole.dictionary), dtype=object)
    distinct[:] = [_as_of_spark(value) for value in whole.dictionary.to_pylist()]
    found[:] = distinct[whole.indices.to_numpy()]
    return found


def _without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column.cast(pa.binary()) if pa.types.is_binary_view(column.type) else column


def _as_of_spark(value: Any) -> Any:
    """The time as Spark gives it: in the local time zone, without naming it."""
    if isinstance(value, datetime):
        return value.astimezone().replace(tzinfo=None)
    return value


def _nested(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)
