"""A kind of entity: how its key and value are written as text and as a record's fields."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from replica.message.json_text import double_text
from replica.message.schema import Value
from replica.metadata.records import schema_named


class Entity(NamedTuple):
    """One entity of an image, a row of gold.metadata_history.

    key, value: compact JSON with sorted keys and unescaped UTF-8; a key of one text or number is
    that text itself. offset: of the record that last changed it.
    """

    kind: str
    key: str
    value: str
    offset: int


@dataclass(frozen=True, slots=True)
class Kind:
    """name: the entity column. table: its attribute of State. record_type: of the record in which
    a snapshot keeps it.

    key_text: its key as the key column. fields: (key, value) -> the record's fields at its newest
    version, every one of them. order: what to sort keys by. text: the fields as compact writes
    them, where that can be had faster.
    """

    name: str
    table: str
    record_type: str
    key_text: Callable[[Any], str]
    fields: Callable[[Any, Any], Mapping[str, Any]]
    order: Callable[[Any], Any] = lambda key: key
    text: Callable[[Any, Any], str] | None = None

    def value_text(self, key: Any, value: Any) -> str:
        return compact(self.fields(key, value)) if self.text is None else self.text(key, value)


def own_fields(key: object, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The value itself: for kinds whose value is the record's fields already."""
    return value


def filled(record_type: str, fields: Mapping[str, Value]) -> dict[str, Any]:
    """The fields of a record of any version, as its newest version has them: fields that the record
    lacks get their defaults."""
    return {f.name: fields.get(f.name, f.default) for f in schema_named(record_type).fields}


def by_name(structures: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    """Structures sorted by their field `name`; of equal names Kafka's map keeps the last."""
    named = {structure["name"]: structure for structure in structures}
    return tuple(named[name] for name in sorted(named))


def compact(value: object) -> str:
    """JSON without spaces, keys sorted, non-ASCII as it is; bytes as base64, and numbers that JSON
    doesn't have as Java's text."""
    try:
        return _encode(value)
    except ValueError:
        return _encode(_finite(value))


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


_encode = json.JSONEncoder(
    separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False, default=_base64
).encode


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return double_text(value)
    return value
