"""The gate of a build without Spark. It does what pipelines.quality.gate does.

The rows that it leaves out are in the form of gold.quarantined_rows. Their texts are those of
Spark's to_json, which Jackson writes.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql.types import VariantType

from pipelines import delta
from pipelines.delta.small import in_types
from pipelines.delta.writing import replace_values
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.quality.expectation import Action
from pipelines.quality.frames import frame
from pipelines.quality.results import JudgedRun, forget_quarantined, of_tables, stop_if_broken
from pipelines.quality.suite_sql import judged_rows, only_broken, without_broken
from pipelines.quality.unbroken import (
    Counted,
    Parts,
    QueryableTables,
    counted,
    counted_in_parts,
    opened,
)
from pipelines.quality.verdicts import TableResult, unbroken
from pipelines.tables.contract import Contract
from pipelines.tables.gold import QUARANTINED_ROWS
from replica.metadata.variant_reader import decode_variant


class SmallGate(JudgedRun):
    """The gates of one run. Leaving the context writes what Gate writes, or nothing where a layer
    is left to Gate. progress, run_id: as in JudgedRun."""

    def __init__(
        self, lake: Lake, progress: Callable[[str], None], run_id: str | None = None
    ) -> None:
        super().__init__(lake, progress, run_id, by_spark=False)
        self._refused = False
        self._passed: list[Contract] = []
        self._left_out: list[Mapping[str, Any]] = []

    def _write(self) -> None:
        if self._refused:
            return
        if self._passed:
            write_left_out(self._lake, self._passed, self._left_out)
        super()._write()

    def admit(
        self,
        tables: Sequence[Contract],
        *,
        leave_out: bool = True,
        layer: QueryableTables | None = None,
        parts: Parts | None = None,
    ) -> bool:
        """Judges the tables of one layer. Gives whether the next layer may be derived from them,
        without the rows that `admitted` leaves out.

        leave_out: where it is False and rows are to be left out, Gate does the whole build, and
        judges the layers before again. layer: the tables, where they were opened before. parts:
        have all clusters of the lake. Raises CorruptDataError as Gate does, UsageError where the
        lake lacks a table, and what delta-rs raises.
        """
        layer = opened(self._lake, tables) if layer is None else layer
        if parts is None:
            counts = counted(layer, tables)
        else:
            counts = counted_in_parts(self._lake, layer, tables, parts)
        refused = [] if leave_out else [one for one in counts if _leaves_out(one)]
        for one in refused:
            self._progress(f"{one.suite.name} has rows to leave out: Spark judges them")
        if refused:
            self.leave_to_spark()
            return False
        judged: list[tuple[TableResult, str]] = []
        admitted: dict[str, str] = {}
        for one in counts:
            rows = judged_rows(one.suite, admitted)
            result = self._judged(layer, one, rows, admitted)
            judged.append((result, rows))
            bad = [verdict.expectation for verdict in result.broken(Action.QUARANTINE)]
            if bad:
                admitted[one.suite.name] = without_broken(rows, one.suite, bad)
        found = [result for result, _ in judged]
        self.results += found
        stop_if_broken(self._lake, found)
        self._left_out += [
            row for one, rows in judged for row in self._quarantined(layer, one, rows)
        ]
        self._passed += [one.table for one in found]
        return True

    def leave_to_spark(self) -> None:
        """Leaves the whole build to Gate, so nothing that was found here is written."""
        self._refused = True

    @property
    def unbroken(self) -> frozenset[str]:
        """The names of the tables in which no row breaks an expectation."""
        return frozenset(
            one.table.name
            for one in self.results
            if all(verdict.success for verdict in one.verdicts)
        )

    def _judged(
        self, layer: QueryableTables, one: Counted, rows: str, admitted: Mapping[str, str]
    ) -> TableResult:
        join = one.suite.joined
        # the joined table lost rows, which may break this suite
        joins_fewer = join is not None and join.contract.name in admitted
        if not any(one.broken) and not joins_fewer:
            return unbroken(one.suite, one.version, one.row_count)
        found = frame(layer, one.suite, rows)
        return self._in_detail(one.suite, found, one.version, one.row_count)

    def _quarantined(
        self, layer: QueryableTables, one: TableResult, rows: str
    ) -> Iterator[Mapping[str, Any]]:
        for verdict in one.broken(Action.QUARANTINE):
            broken = only_broken(rows, one.suite, verdict.expectation)
            for told in texts(one.table, in_types(layer.answer(broken), one.table.arrow_schema)):
                yield {
                    "run_id": self.run_id,
                    "at": self._at,
                    "table_name": one.table.name,
                    "table_version": one.version,
                    "reason": verdict.expectation.meaning,
                    **told,
                }


def _leaves_out(one: Counted) -> bool:
    told = zip(one.suite.expectations, one.broken, strict=True)
    return any(count and of.action is Action.QUARANTINE for of, count in told)


_ESCAPED = {code: f"\\u{code:04X}" for code in range(0x20)} | {
    ord(char): f"\\{letter}" for char, letter in zip('"\\\b\t\n\f\r', '"\\btnfr', strict=True)
}
_PLAIN_NUMBERS = (1e-3, 1e7)
"""Java writes a number between these two without an exponent."""


def write_left_out(
    lake: delta.Lake, tables: Sequence[Contract], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Makes `rows` the only rows of these tables in gold.quarantined_rows. rows: have the columns
    of that table."""
    if not rows:
        forget_quarantined(lake, tables)
        return
    delta.ensure_table(lake, QUARANTINED_ROWS)
    table = open_if_there(lake, QUARANTINED_ROWS.name)
    assert table is not None, "ensure_table has made it"
    others = delta.rows_where(lake, QUARANTINED_ROWS, f"NOT ({of_tables(tables)})", table.version())
    own = pa.Table.from_pylist([*rows], QUARANTINED_ROWS.arrow_schema)
    replace_values(lake, QUARANTINED_ROWS, [pa.concat_tables([others, own])])


def texts(contract: Contract, rows: pa.Table) -> Iterable[dict[str, str]]:
    """For each row of a table its row_key and its content. rows: have the types of the contract."""
    variants = {one.name for one in contract.columns if isinstance(one.data_type, VariantType)}
    for row in rows.to_pylist():
        told = {
            name: _json_of_variant(value) if name in variants else _json(value)
            for name, value in row.items()
            if value is not None
        }
        keys = {name: told[name] for name in contract.keys if name in told}
        yield {"row_key": _object(keys), "content": _object(told)}


def _json_of_variant(value: Mapping[str, bytes]) -> str:
    return _json(decode_variant(value["value"], value["metadata"]), with_nulls=True)


def _json(value: Any, *, with_nulls: bool = False) -> str:
    """The value as JSON. with_nulls: whether an object gets its fields that are NULL, as in a
    VARIANT."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list):
        return f"[{','.join(_json(one, with_nulls=with_nulls) for one in value)}]"
    if isinstance(value, Mapping):
        told = {
            name: _json(one, with_nulls=with_nulls)
            for name, one in value.items()
            if with_nulls or one is not None
        }
        return _object(told)
    if isinstance(value, bytes):
        return _text(b64encode(value).decode())
    if isinstance(value, datetime):
        time = value.astimezone(UTC).replace(tzinfo=None)
        return _text(f"{time.isoformat(timespec='milliseconds')}Z")
    return _text(value)


def _object(fields: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{_text(name)}:{value}" for name, value in fields.items()) + "}"


def _text(value: str) -> str:
    return f'"{value.translate(_ESCAPED)}"'


def _number(value: float) -> str:
    """The text of Double.toString of Java 19 and later. For a few numbers, such as 1e23, Java 17
    writes more digits than needed."""
    least, most = _PLAIN_NUMBERS
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else f'"{"-" * (value < 0)}Infinity"'
    if value == 0 or least <= abs(value) < most:
        return repr(value)
    exact = Decimal(repr(value)).normalize().as_tuple()
    first, *rest = exact.digits
    exponent = int(exact.exponent) + len(rest)
    return f"{'-' * exact.sign}{first}.{''.join(map(str, rest)) or 0}E{exponent}"
