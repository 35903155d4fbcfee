"""A record's fields from parsed JSON, the inverse of json_text.plain_maker. A redacted field stays
the text that replaces it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from replica.errors import CorruptDataError
from replica.message.program import FieldStep, Program
from replica.message.schema import REDACTED, Kind, Value

_Read: TypeAlias = Callable[[Any], Value]

_INTEGERS = (Kind.INT8, Kind.INT16, Kind.UINT16, Kind.INT32, Kind.UINT32, Kind.INT64)


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
    except (TypeError, ValueError) as error:  # binascii.Error is a ValueError
        raise CorruptDataError(f"{name}: {value!r} is no {step.kind.value}", 0) from error


def _reader(program: Program, step: FieldStep) -> _Read:
    if step.kind is Kind.STRUCT:
        return lambda value: _fields(program, step.first, step.end, value)
    if step.kind in _INTEGERS:
        return _integer
    return _SCALARS[step.kind]


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _double(value: Any) -> float:
    """A number, or one of the strings for NaN and the infinities."""
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _bytes(value: Any) -> Value:
    text = _string(value)
    if text.startswith(REDACTED):
        return text
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError from error


_SCALARS: dict[Kind, _Read] = {
    Kind.BOOL: _bool,
    Kind.FLOAT64: _double,
    Kind.UUID: _string,
    Kind.STRING: _string,
    Kind.BYTES: _bytes,
}
