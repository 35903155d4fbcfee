"""Kafka's JSON of a record's data, as plain Python values and as text.

The text is byte for byte what kafka-dump-log --cluster-metadata-decoder prints as `data`. Fields
are in declared order, without spaces, and a tagged field that holds its default is left out. A uuid
has 22 characters, and bytes are padded base64. Strings are as Jackson writes them: `"` and `\\` are
escaped, control characters have their short escape or \\u00XX with upper-case digits, and all other
characters stay.

A double is printed as by Java's Double.toString since JDK 19: with the shortest digits that read
back as the same number. Older JDKs print needless digits of some numbers, such as
1.9999999999999998E23 for 2.0E23. On JDK 17 this happened for 129 of 60,000 random numbers, which
were all of extreme size or had random bits, and for none of 10,000 numbers below 1000 with two
decimals. NaN and the infinities are JSON strings, as in Jackson.
"""

from __future__ import annotations

import binascii
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from replica.message.program import FieldStep, Program
from replica.message.schema import Kind, Value

Plain: TypeAlias = "int | float | str | bool | list[Plain] | dict[str, Plain] | None"
"""A value as Python's json module reads it from a text."""

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
        # Java prints the best two digits even if one digit is enough. This differs only for the
        # smallest subnormal numbers: 4.9E-324, for which Python prints 5e-324.
        two, _, two_exponent = format(value, ".1e").partition("e")
        if float(f"{two}e{two_exponent}") == value:
            return two.replace(".", "").rstrip("0"), int(two_exponent)
    return digits, point + int(exponent or "0")


def quote(text: str) -> str:
    """A JSON string as Jackson writes it."""
    if _ESCAPED.search(text):
        text = text.translate(_ESCAPES)
    return f'"{text}"'


def bytes_plain(value: Value) -> Plain:
    """Bytes as padded base64. The text of a redacted field is returned unchanged."""
    if not isinstance(value, bytes):
        return str(value)
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def text_of(plain: Plain) -> str:
    """The JSON text of a value that plain_maker or bytes_plain gives, or of None."""
    return _TEXTS[type(plain)](plain)


def _list_text(values: list[Plain]) -> str:
    return "[" + ",".join([_TEXTS[type(value)](value) for value in values]) + "]"


def _dict_text(fields: dict[str, Plain]) -> str:
    texts = [f'"{name}":{_TEXTS[type(value)](value)}' for name, value in fields.items()]
    return "{" + ",".join(texts) + "}"


_TEXTS: dict[type, Callable[[Any], str]] = {
    str: quote,
    int: str,
    float: double_text,
    bool: lambda value: "true" if value else "false",
    type(None): lambda value: "null",
    list: _list_text,
    dict: _dict_text,
}


def _double_plain(value: Value) -> Plain:
    assert isinstance(value, float | int)
    return float(value) if math.isfinite(value) else double_text(float(value))


def plain_maker(program: Program) -> Callable[[Mapping[str, Value]], dict[str, Plain]]:
    """A function from a whole record's fields to their JSON as plain Python values."""
    return _struct_to_plain(program, 0, program.width)


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


_SCALARS: dict[Kind, _ToPlain] = {Kind.FLOAT64: _double_plain, Kind.BYTES: bytes_plain}


def _plain_maker(program: Program, step: FieldStep) -> _ToPlain | None:
    """The conversion of a field's value; None if the value is plain already."""
    one = _SCALARS.get(step.kind)
    if step.kind is Kind.STRUCT:
        one = _struct_to_plain(program, step.first, step.end)  # type: ignore[assignment]
    if not step.is_array:
        return one

    def convert(value: Value) -> Plain:
        if value is None:
            return None
        assert isinstance(value, tuple)
        return list(value) if one is None else list(map(one, value))  # type: ignore[arg-type]

    return convert
