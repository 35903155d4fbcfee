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
from replica.metadata.records import RECORDS_BY_NAME


class Entity(NamedTuple):
    """One entity of an image, a row of gold.metadata_history.

    key, value: compact JSON with sorted keys and unescaped UTF-8; but a key that is a single text
    or number stands without JSON's quotes. offset: of the record that last changed the entity.
    """

    kind: str
    key: str
    value: str
    offset: int


def own_fields(key: object, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The value itself, for kinds whose value is the record's fields."""
    return value


@dataclass(frozen=True, slots=True)
class EntityKind:
    """name: the value of the column `entity`. table: the attribute of State. record_type: the
    record in which a snapshot keeps the entity.

    fields: (key, value) -> all fields of the record's newest version. key_text: the key as the
    column `key` has it. order: what to sort keys by. text: a faster way to what compact(fields)
    gives.
    """

    name: str
    table: str
    record_type: str
    fields: Callable[[Any, Any], Mapping[str, Any]] = own_fields
    key_text: Callable[[Any], str] = str
    order: Callable[[Any], Any] = lambda key: key
    text: Callable[[Any, Any], str] | None = None

    def value_text(self, key: Any, value: Any) -> str:
        return compact(self.fields(key, value)) if self.text is None else self.text(key, value)


def filled(record_type: str, fields: Mapping[str, Value]) -> dict[str, Any]:
    """A record's fields as its newest version has them. Fields that the record lacks get their
    defaults."""
    return {f.name: fields.get(f.name, f.default) for f in RECORDS_BY_NAME[record_type].fields}


def by_name(structures: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    """Structures sorted by their field `name`; of equal names Kafka's map keeps the last."""
    named = {structure["name"]: structure for structure in structures}
    return tuple(named[name] for name in sorted(named))


def compact(value: object) -> str:
    """JSON without spaces, with sorted keys and non-ASCII text as it is. Bytes become base64; NaN
    and the infinities become Java's text."""
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
