"""A change in the form that consumers get: a key, and an envelope in JSON; and the JSON Schema of
the envelope (https://json-schema.org/draft/2020-12/schema), made from the table's contract. Its
objects are open: a later release may add a column."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql.types import ArrayType, DataType, DoubleType, StructType

from pipelines.feeds.values import Feed, RowChange
from pipelines.tables.contract import Column


def key(feed: Feed, change: RowChange) -> bytes:
    """The key columns as a JSON object in UTF-8."""
    return compact({name: change.row[name] for name in feed.key})


def value(feed: Feed, change: RowChange) -> bytes:
    """The envelope as one line of JSON in UTF-8, without a line end."""
    return compact(
        {
            "table": feed.name,
            "version": change.version,
            "ordinal": change.ordinal,
            "op": change.op,
            "committed_at": change.committed_at,
            "before": change.before,
            "after": change.after,
        }
    )


def compact(content: Any) -> bytes:
    """JSON without blanks, in UTF-8."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


_INTEGER = {"type": "integer"}
_TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "int": {**_INTEGER, "minimum": -(2**31), "maximum": 2**31 - 1},
    "bigint": {**_INTEGER, "minimum": -(2**63), "maximum": 2**63 - 1},
    "timestamp": _INTEGER,
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "binary": {"type": "string", "contentEncoding": "base64"},
}
_OPS = {
    ("read", "insert"): (False, True),
    ("update",): (True, True),
    ("delete",): (True, False),
}
"""By operations: whether there is a row before the change, and whether there is a row after it."""


def json_schema(feed: Feed) -> dict[str, Any]:
    """The schema of one message's value, or of one line of a file."""
    version = "Delta version of the table whose commit changed the row"
    properties = {
        "table": {"const": feed.name},
        "version": {"type": "integer", "minimum": 0, "description": version},
        "ordinal": {
            "type": "integer",
            "minimum": 0,
            "description": "place among the version's changes; (version, ordinal) rises, and names "
            "the change",
        },
        "op": {
            "enum": [op for ops in _OPS for op in ops],
            "description": "what became of the row; read: it was there before publishing began",
        },
        "committed_at": {
            "type": ["integer", "null"],
            "description": "time of the commit, ms since the epoch; null for read",
        },
        "before": {"description": "the row as it was; null where there was none"},
        "after": {"description": "the row as it is; null where there is none"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kraftlake:feed:{feed.name}",
        "title": feed.name,
        "description": feed.contract.description,
        "type": "object",
        "required": list(properties),
        "properties": properties,
        "oneOf": [_shape(ops, *there) for ops, there in _OPS.items()],
        "$defs": {
            "row": {
                "type": "object",
                "required": list(feed.contract.column_names),
                "properties": {c.name: _column(c) for c in feed.contract.columns},
            }
        },
    }


def _shape(ops: tuple[str, ...], has_before: bool, has_after: bool) -> dict[str, Any]:
    row, none = {"$ref": "#/$defs/row"}, {"type": "null"}
    return {
        "properties": {
            "op": {"enum": list(ops)},
            "before": row if has_before else none,
            "after": row if has_after else none,
        }
    }


def _column(column: Column) -> dict[str, Any]:
    kind = _shape_of(column.data_type)
    unit = " (ms since the epoch)" if column.type == "timestamp" else ""
    shown = _or_null(kind) if column.nullable else kind
    return {**shown, "description": f"{column.description}{unit}"}


def _or_null(kind: dict[str, Any]) -> dict[str, Any]:
    return {**kind, "type": [*_listed(kind["type"]), "null"]}


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else [one for one in names if one != "null"]


def _shape_of(kind: DataType) -> dict[str, Any]:
    """The schema of a value of this type. A value within another one may be NULL, and so may a
    double, for a number that JSON lacks."""
    if isinstance(kind, ArrayType):
        return {"type": "array", "items": _or_null(_shape_of(kind.elementType))}
    if isinstance(kind, StructType):
        fields = {one.name: _or_null(_shape_of(one.dataType)) for one in kind.fields}
        return {"type": "object", "required": [*fields], "properties": fields}
    if isinstance(kind, DoubleType):
        return {"type": ["number", "null"]}
    return _TYPES[kind.simpleString()]
