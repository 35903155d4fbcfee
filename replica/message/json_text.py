"""Kafka's JSON of a record's data, as text and as plain Python values.

The text is byte for byte what kafka-dump-log --cluster-metadata-decoder prints as `data`. Fields
are in declared order, without spaces, and a tagged field that holds its default is left out. A uuid
has 22 characters, and bytes are padded base64. Strings are as Jackson writes them: `"` and `\\` are
escaped, control characters have their short escape or \\u00XX with upper-case digits, and all other
characters stay.

A double is printed as by Java's Double.toString since JDK 19: with the shortest digits that read
back as the same number. Older JDKs print needless digits of some numbers, such as
1.9999999999999998E23 for 2.0E23. On JDK 17 these were 129 of 60,000 drawn numbers, all of them of
extreme size or with random bits, and none of 10,000 below 1000 with two decimals. NaN and the
infinities are JSON strings, as by Jackson.
"""

from __future__ import annotations

import binascii
import math
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from replica.message.program import FieldStep, Program
from replica.message.schema import Kind, Value

Plain: TypeAlias = "int | float | str | bool | list[Plain] | dict[str, Plain] | None"
"""A value as Python's json module reads it from a text."""

_Render: TypeAlias = Callable[[Value], str]
_ToPlain: TypeAlias = Callable[[Value], Plain]

_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_ESCAPES: dict[int, str] = {
    **{code: f"\\u{code:04X}" for code in range(0x20)},
    **{ord(c): f"\\{letter}" for c, letter in zip('"\\\b\t\n\f\r', '"\\btnfr', strict=True)},
}


def double_text(value: float) -> str:
    """Java's Double.toString (JDK 19+), such as 1.0E10, 0.001, -0.0, NaN, Infinity."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return sign + "0.0"
    digits, exponent = _shortest_digits(abs(value))
    if 0 <= exponent < 7:
        digits = digits.ljust(exponent + 1, "0")
        return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :] or '0'}"
    if -3 <= exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _shortest_digits(value: float) -> tuple[str, int]:
    """(the digits of a positive number without zeros at either end, the first digit's exponent)."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) - 1 if whole == "0" else len(whole) - 1
    digits = digits.rstrip("0")
    if len(digits) == 1:
        # Java takes the best two digits even where one digit is enough. That differs for the
        # smallest subnormal numbers only: 4.9E-324, where Python prints 5e-324.
        two, _, two_exponent = format(value, ".1e").partition("e")
        if float(f"{two}e{two_exponent}") == value:
            return two.replace(".", "").rstrip("0"), int(two_exponent)
    return digits, point + int(exponent or "0")


def quote(text: str) -> str:
    """A JSON string as Jackson writes it."""
    if _ESCAPED.search(text):
        text = text.translate(_ESCAPES)
    return f'"{text}"'


def _base64(raw: bytes) -> str:
    return binascii.b2a_base64(raw, newline=False).decode("ascii")


def bytes_plain(value: Value) -> Plain:
    """Bytes as padded base64; of a redacted field, the text that replaces them."""
    return _base64(value) if isinstance(value, bytes) else str(value)


def bytes_text(value: Value) -> str:
    """What bytes_plain gives, as a JSON string."""
    return quote(str(bytes_plain(value)))


def _double_json(value: Value) -> str:
    assert isinstance(value, float | int)
    text = double_text(float(value))
    return text if math.isfinite(value) else f'"{text}"'


def _double_plain(value: Value) -> Plain:
    assert isinstance(value, float | int)
    return float(value) if math.isfinite(value) else double_text(float(value))


def renderer(program: Program) -> Callable[[Mapping[str, Value]], str]:
    """A function from a whole record's fields to their JSON text."""
    return _struct_renderer(program, 0, program.width)


def plain_maker(program: Program) -> Callable[[Mapping[str, Value]], dict[str, Plain]]:
    """A function from a whole record's fields to the object that json.loads of their text gives."""
    return _struct_to_plain(program, 0, program.width)


def _struct_renderer(
    program: Program, first: int, end: int
) -> Callable[[Mapping[str, Value]], str]:
    plan = tuple(
        (step.name, f'"{step.name}":', _renderer(program, step), step.is_tagged, step.default)
        for step in program.steps[first:end]
    )

    def render(fields: Mapping[str, Value]) -> str:
        parts = []
        for name, label, put, is_tagged, default in plan:
            value = fields[name]
            if is_tagged and value == default:
                continue
            parts.append(label + put(value))
        return "{" + ",".join(parts) + "}"

    return render


def _renderer(program: Program, step: FieldStep) -> _Render:
    one = _scalar_renderer(program, step)
    if not step.is_array:
        return one

    def render(value: Value) -> str:
        if value is None:
            return "null"
        assert isinstance(value, tuple)
        return "[" + ",".join(map(one, value)) + "]"

    return render


def _quoted_uuid(value: Value) -> str:
    assert isinstance(value, str)
    return f'"{value}"'


def _bool_text(value: Value) -> str:
    return "true" if value else "false"


def _string_text(value: Value) -> str:
    return "null" if value is None else quote(str(value))


_SCALAR_TEXTS: dict[Kind, _Render] = {
    Kind.BOOL: _bool_text,
    Kind.FLOAT64: _double_json,
    Kind.UUID: _quoted_uuid,
    Kind.STRING: _string_text,
    Kind.BYTES: bytes_text,
}


def _scalar_renderer(program: Program, step: FieldStep) -> _Render:
    if step.kind is not Kind.STRUCT:
        return _SCALAR_TEXTS.get(step.kind, str)
    render_struct = _struct_renderer(program, step.first, step.end)

    def render(value: Value) -> str:
        assert isinstance(value, dict)
        return render_struct(value)

    return render


def _struct_to_plain(
    program: Program, first: int, end: int
) -> Callable[[Mapping[str, Value]], dict[str, Plain]]:
    plan = tuple(
        (step.name, _plain_maker(program, step), step.is_tagged, step.default)
        for step in program.steps[first:end]
    )

    def make(fields: Mapping[str, Value]) -> dict[str, Plain]:
        plain: dict[str, Plain] = {}
        for name, convert, is_tagged, default in plan:
            value = fields[name]
            if is_tagged and value == default:
                continue
            plain[name] = value if convert is None else convert(value)  # type: ignore[assignment]
        return plain

    return make


def _plain_maker(program: Program, step: FieldStep) -> _ToPlain | None:
    """The conversion of a field's value; None where the value is plain already."""
    one = _scalar_plain_maker(program, step)
    if not step.is_array:
        return one

    def convert(value: Value) -> Plain:
        if value is None:
            return None
        assert isinstance(value, tuple)
        return list(value) if one is None else list(map(one, value))  # type: ignore[arg-type]

    return convert


def _scalar_plain_maker(program: Program, step: FieldStep) -> _ToPlain | None:
    if step.kind is Kind.FLOAT64:
        return _double_plain
    if step.kind is Kind.BYTES:
        return bytes_plain
    if step.kind is not Kind.STRUCT:
        return None
    make = _struct_to_plain(program, step.first, step.end)

    def convert(value: Value) -> Plain:
        assert isinstance(value, dict)
        return make(value)

    return convert
