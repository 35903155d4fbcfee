"""New rows of gold.metadata_changes of a large cluster, compared with the table's rows: the table's
change data feed gets only rows that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pyarrow.compute as pc

from pipelines.data_files import data_set
from pipelines.new_file import NewFile
from pipelines.stages.output import Output, Replaced, UnitResult
from pipelines.stages.pins import Pins
from pipelines.tables import gold
from pipelines.tables.contract import Contract

_ROWS_COMPARED = 300_000
"""About how many new rows one unit compares with the table's rows."""


@dataclass(frozen=True)
class Changed:
    """A unit: a cluster's new rows of gold.metadata_changes with offsets from low (inclusive) to
    high (exclusive). The table already has rows of this cluster."""

    cluster_id: str
    low: int
    high: int
    files: tuple[str, ...]
    """New files that have the new rows."""
    records: int


def compare_changes(unit: Changed, pins: Pins) -> UnitResult:
    """Writes the new rows that differ from those of the table."""
    out = Output(pins, Replaced((unit.cluster_id,)))
    contract = gold.METADATA_CHANGES
    within = (pc.field("offset") >= unit.low) & (pc.field("offset") < unit.high)
    names = contract.column_names
    after = contract.arrow_schema.empty_table()
    if unit.files:
        files = data_set(pins.lake.path_of(contract), unit.files)
        after = files.to_table([*names], within).cast(contract.arrow_schema)
    where = f'{out.rows_before(contract)} AND "offset" >= {unit.low:d} AND "offset" < {unit.high:d}'
    before = pins.columns(contract, names, where)
    out.put_changes(contract, before, after)
    return out.result()


def without_files_of(
    result: UnitResult, contract: Contract
) -> tuple[UnitResult, tuple[NewFile, ...]]:
    """A unit's result without its files of a table, and these files."""
    files = tuple(f for one in result.made if one.table == contract.name for f in one.files)
    others = tuple(one for one in result.made if one.table != contract.name)
    return replace(result, made=others), files


def changes(cluster_id: str, files: Sequence[NewFile]) -> Iterator[Changed]:
    """The units in which new rows of gold.metadata_changes are compared with the table's."""
    bounds = [end for one in files for end in one.bounds["offset"] if isinstance(end, int)]
    low, high = min(bounds, default=0), max(bounds, default=0) + 1
    rows = sum(one.row_count for one in files)
    count = 1 + rows // _ROWS_COMPARED
    cuts = [low + (high - low) * n // count for n in range(1, count)]
    names = tuple(one.name for one in files)
    for start, end in pairwise([0, *cuts, (1 << 63) - 1]):
        yield Changed(cluster_id, start, end, names, rows // count)
