"""The columns about a row's neighbours that conditions use, for rows in memory.

DataFusion computes the same columns by the windows of pipelines.quality.suite_sql, which sort texts
and take ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.quality.expectation import ROWS_OF_KEY, Beside, Suite

_Longs = npt.NDArray[np.int64]
_Numbers = tuple[_Longs, int]
"""A number from 0 on for each row, and a bound above all numbers."""
_MAX_LONG = (1 << 63) - 1
_BY_DICTIONARY = (
    pa.types.is_string, pa.types.is_binary, pa.types.is_boolean, pa.types.is_timestamp,
    pa.types.is_date,
)  # fmt: skip


def with_neighbours(suite: Suite, rows: pa.Table) -> pa.Table:
    """The rows with ROWS_OF_KEY and the columns of `suite.beside`. Of these columns, those are left
    out that depend on a column without numbers (_has_numbers). rows: have at least the keys and the
    columns that `suite.beside` names."""
    keys = suite.contract.keys
    names = {*keys, *(name for of in suite.beside.values() for name in (*of.within, of.by))}
    numbers = {name: _numbers_of(rows[name]) for name in names if _has_numbers(rows[name].type)}
    for name, of in suite.beside.items():
        if {*of.within, of.by} <= {*numbers} and pa.types.is_integer(rows[of.by].type):
            rows = rows.append_column(name, _beside(rows[of.column], of, numbers))
    if {*keys} <= {*numbers}:
        rows = rows.append_column(ROWS_OF_KEY, _rows_of_key([numbers[name] for name in keys]))
    return rows


def _has_numbers(kind: pa.DataType) -> bool:
    """Whether a column of this type can be numbered (_numbers_of): two of its values are equal here
    exactly where they are equal in SQL. Floats can't: which floats are equal depends on the SQL
    engine."""
    return pa.types.is_integer(kind) or any(is_of(kind) for is_of in _BY_DICTIONARY)


def _rows_of_key(keys: Iterable[_Numbers]) -> pa.Array:
    groups, _ = _together(keys)
    ordered = np.sort(groups)
    if not (ordered[1:] == ordered[:-1]).any():  # as in every sound table
        return pa.repeat(pa.scalar(1, pa.int64()), len(groups))
    _, places, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return pa.array(counts[places], pa.int64())


def _beside(column: pa.ChunkedArray, of: Beside, numbers: Mapping[str, _Numbers]) -> pa.Array:
    groups = _together(numbers[name] for name in of.within)
    order = np.argsort(_together((groups, numbers[of.by]))[0])
    first, second = order[:-1], order[1:]
    is_same = groups[0][first] == groups[0][second]
    here, there = (second, first) if of.is_before else (first, second)
    places = np.full(len(order), -1)
    places[here[is_same]] = there[is_same]
    return column.take(pa.array(places, mask=places < 0)).combine_chunks()


def _together(columns: Iterable[_Numbers]) -> _Numbers:
    """Numbers of the rows, in the order of the first column's numbers, then of the next column's.
    Rows with equal numbers in all columns have the same number."""
    found, room = np.zeros(1, np.int64), 1
    for numbers, size in columns:
        if room > _MAX_LONG // size:
            found, room = _dense(found)
        if room > _MAX_LONG // size:
            numbers, size = _dense(numbers)
        found = found * size + numbers
        room *= size
    return found, room


def _numbers_of(column: pa.ChunkedArray) -> _Numbers:
    """A number for each row: the same for equal values, where NULL counts as a value. Numbers of
    ints are in the order of the ints, with NULL first."""
    if pa.types.is_integer(column.type):
        return _numbers_of_ints(column)
    chunks = column.dictionary_encode(null_encoding="encode").chunks  # all with one dictionary
    numbers = [np.empty(0, np.int64), *(one.indices.to_numpy() for one in chunks)]
    return np.concatenate(numbers), max((len(one.dictionary) for one in chunks), default=0) + 1


def _numbers_of_ints(column: pa.ChunkedArray) -> _Numbers:
    bounds = pc.min_max(column)
    low, high = bounds["min"].as_py() or 0, bounds["max"].as_py() or 0
    values = column.fill_null(low).to_numpy().astype(np.int64)
    if high - low >= _MAX_LONG - 2:
        (values, high), low = _dense(values), 0
    numbers = values - low + 1
    if column.null_count:
        numbers[np.asarray(column.is_null())] = 0
    return numbers, high - low + 2


def _dense(numbers: _Longs) -> _Numbers:
    """For each number the count of distinct numbers below it. So equal numbers stay equal, and the
    order stays."""
    different, places = np.unique(numbers, return_inverse=True)
    return places, len(different) + 1
