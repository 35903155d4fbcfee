"""The rows that a build without Spark leaves out, in the form of gold.quarantined_rows.

The texts are those of Spark's to_json, which Jackson writes.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql.types import VariantType

from pipelines import delta
from pipelines.delta.writing import replace_values
from pipelines.lake.delta_rs import open_if_there
from pipelines.quality.results import forget_quarantined, of_tables
from pipelines.tables.contract import Contract
from pipelines.tables.gold import QUARANTINED_ROWS
from replica.metadata.variant_reader import decode_variant

_ESCAPED = {code: f"\\u{code:04X}" for code in range(0x20)} | {
    ord(char): f"\\{letter}" for char, letter in zip('"\\\b\t\n\f\r', '"\\btnfr', strict=True)
}
_PLAIN_NUMBERS = (1e-3, 1e7)
"""Java writes a number between these two without an exponent."""


def write_left_out(
    lake: delta.Lake, tables: Sequence[Contract], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Makes `rows` all rows that gold.quarantined_rows has of the tables. rows: with its
    columns."""
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
    """For each row of a table its row_key and its content. rows: with the types of the contract."""
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
        fields = value.items()
        return _object(
            {
                name: _json(one, with_nulls=with_nulls)
                for name, one in fields
                if with_nulls or one is not None
            }
        )
    return _text(_plain(value))


def _object(fields: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{_text(name)}:{value}" for name, value in fields.items()) + "}"


def _plain(value: str | bytes | datetime) -> str:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        time = value.astimezone(UTC).replace(tzinfo=None)
        return f"{time.isoformat(timespec='milliseconds')}Z"
    return value


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
