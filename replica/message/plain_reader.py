"""A record's fields from parsed JSON, the inverse of json_text.plain_maker. The value of a redacted
field stays the text that replaced the secret."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from replica.errors import CorruptDataError
from replica.message.program import FieldStep, Program
from replica.message.schema import REDACTED, Kind, Value

PlainReader: TypeAlias = Callable[[Any], dict[str, Value]]
_Read: TypeAlias = Callable[[Any], Value]


def plain_reader(program: Program) -> PlainReader:
    """A function from JSON to the fields of a whole record. It ignores names that the record's
    version lacks, and raises CorruptDataError for a field that is missing or of another type."""
    return _structure_reader(program, 0, program.width)


def _structure_reader(program: Program, first: int, end: int) -> PlainReader:
    structure = program.schema.name
    readers = [(step, _value_reader(program, step)) for step in program.steps[first:end]]
    fields = [(step.name, step.nullable, step, read) for step, read in readers]

    def read_structure(data: Any) -> dict[str, Value]:
        if not isinstance(data, dict):
            raise CorruptDataError(f"{structure}: {data!r} is no structure", 0)
        found: dict[str, Value] = {}
        for name, is_nullable, step, read in fields:
            if name not in data:
                if not step.is_tagged:
                    raise CorruptDataError(f"{structure}.{name} is missing", 0)
                found[name] = step.default
                continue
            value = data[name]
            if value is None and is_nullable:
                found[name] = None
                continue
            try:
                found[name] = read(value)
            except (TypeError, ValueError) as error:
                wrong = f"{structure}.{name}: {value!r} is no {step.kind.value}"
                raise CorruptDataError(wrong, 0) from error
        return found

    return read_structure


def _value_reader(program: Program, step: FieldStep) -> _Read:
    if step.kind is Kind.STRUCT:
        read: _Read = _structure_reader(program, step.first, step.end)
    elif step.kind is Kind.FLOAT64:
        read = _double
    elif step.kind is Kind.BYTES:
        read = _bytes
    else:
        read = partial(_of_type, _TYPES.get(step.kind, int))
    return partial(_array, read) if step.is_array else read


def _array(read: _Read, value: Any) -> Value:
    if type(value) is not list:
        raise TypeError
    return tuple([read(element) for element in value])


def _of_type(kind: type, value: Any) -> Value:
    """The value, if it has this type; JSON's true and false don't count as numbers. Raises
    TypeError for another type."""
    is_fitting = type(value) is kind
    if not is_fitting:
        raise TypeError
    fitting: Value = value
    return fitting


def _double(value: Any) -> Value:
    """The value as a double. The value may be a string, as for NaN or an infinity. Raises TypeError
    or ValueError if it is no number."""
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _bytes(value: Any) -> Value:
    if type(value) is not str:
        raise TypeError
    return value if value.startswith(REDACTED) else base64.b64decode(value, validate=True)


_TYPES = {Kind.BOOL: bool, Kind.UUID: str, Kind.STRING: str}
"""Python's types of JSON values, for the kinds that aren't numbers."""
