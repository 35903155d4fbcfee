"""A kind of entity: how its key and value are written as text and as a record's fields."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from replica.message.json_text import double_text


class Entity(NamedTuple):
    """One entity of an image: a row of gold.metadata_history. Its key and its value are compact
    JSON with sorted keys and unescaped UTF-8."""

    kind: str
    key: str
    """The key. A key of a single text or number has no JSON quotes."""
    value: str
    offset: int
    """The offset of the record that last changed the entity."""


@dataclass(frozen=True, slots=True)
class EntityKind:
    """A kind of entity."""

    name: str
    """The name of the kind, as in the column `entity`."""
    table: str
    """The attribute of State that holds the entities of this kind."""
    record_type: str
    """The record in which a snapshot keeps the entity."""
    fields: Callable[[Any, Any], Mapping[str, Any]] = lambda key, value: value
    """A function of key and value that gives all fields of the record's newest version. By default
    the value itself is a mapping of these fields."""
    key_text: Callable[[Any], str] = str
    """A function of the key that gives the text in the column `key`."""
    order: Callable[[Any], Any] = lambda key: key
    """A function of the key that gives its sort key."""
    text: Callable[[Any, Any], str] | None = None
    """A faster function of key and value with the same result as `compact` of the fields; None if
    there is no faster function."""

    def value_text(self, key: Any, value: Any) -> str:
        return compact(self.fields(key, value)) if self.text is None else self.text(key, value)


def compact(value: object) -> str:
    """JSON without spaces, with sorted keys and unescaped non-ASCII text. Bytes become base64; NaN
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
