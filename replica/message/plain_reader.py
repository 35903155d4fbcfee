"""A record's fields from parsed JSON, the inverse of json_text.plain_maker. The value of a redacted
field stays the text that has replaced the secret."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from replica.errors import CorruptDataError
from replica.message.program import FieldStep, Program
from replica.message.schema import REDACTED, Kind, Value

_Read: TypeAlias = Callable[[Any], Value]


def read_plain(program: Program, data: Mapping[str, Any]) -> dict[str, Value]:
    """The fields of a whole record. Names that its version lacks are ignored.

    Raises CorruptDataError for a field that is missing or of another type.
    """
    return _fields(program, 0, program.width, data)


def _fields(program: Program, first: int, end: int, data: object) -> dict[str, Value]:
    if not isinstance(data, Mapping):
        raise CorruptDataError(f"{program.schema.name}: {data!r} is no structure", 0)
    return {step.name: _field(program, step, data) for step in program.steps[first:end]}


def _field(program: Program, step: FieldStep, data: Mapping[str, Any]) -> Value:
    name = f"{program.schema.name}.{step.name}"
    if step.name not in data:
        if step.is_tagged:
            return step.default
        raise CorruptDataError(f"{name} is missing", 0)
    value = data[step.name]
    if value is None and step.nullable:
        return None
    read = _reader(program, step)
    try:
        if step.is_array:
            if not isinstance(value, list):
                raise TypeError
            return tuple(map(read, value))
        return read(value)
    except (TypeError, ValueError) as error:
        raise CorruptDataError(f"{name}: {value!r} is no {step.kind.value}", 0) from error


def _reader(program: Program, step: FieldStep) -> _Read:
    if step.kind is Kind.STRUCT:
        return lambda value: _fields(program, step.first, step.end, value)
    return partial(_scalar, step.kind)


def _scalar(kind: Kind, value: Any) -> Value:
    """The value of a field from its JSON. A double may be one of the strings for NaN and the
    infinities. JSON's true and false are no numbers."""
    if kind is Kind.FLOAT64 and not isinstance(value, bool):
        return float(value)
    is_fitting = type(value) is _TYPES.get(kind, int)
    if not is_fitting:
        raise TypeError
    if kind is Kind.BYTES and not value.startswith(REDACTED):
        return base64.b64decode(value, validate=True)
    scalar: Value = value
    return scalar


_TYPES = {Kind.BOOL: bool, Kind.UUID: str, Kind.STRING: str, Kind.BYTES: str}
"""The types of Python in which JSON has the kinds that are no numbers."""
