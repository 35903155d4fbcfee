"""Writes a separate function for each of the most frequent record versions. An interpreter reads
all other versions.

A straight-line function has the same result as the interpreter for one program, without reading a
table: the places of fields are local variables, and labels are numbers in the code. Such a function
    is about three times as fast as the interpreter. Like the interpreter (`locate`), it refuses
    values that aren't valid to their last byte. Its text is made only of the content of
    replica.message.program; `straight_source` returns it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from replica.message.program import FieldStep, Program
from replica.message.schema import Kind
from replica.scan.kernels import json_values, locate, memory, variant_values
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import load_i32, store_8, store_32
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.native import Bytes
from replica.scan.tables import KERNEL_PROGRAMS, default_of

COMMON: tuple[tuple[str, int], ...] = (
    ("TOPIC_RECORD", 0),
    *(("PARTITION_RECORD", version) for version in (1, 2)),
    *(("PARTITION_CHANGE_RECORD", version) for version in (1, 2)),
    ("CONFIG_RECORD", 0),
    *(("BROKER_REGISTRATION_CHANGE_RECORD", version) for version in (2, 3)),
)
"""The programs with straight-line code: the records that Kafka 3.7 and later write most often. Each
takes a second or two to compile, once. The interpreter reads the records of all other programs, at
a third of the speed."""

_NULL_TEXT = int.from_bytes(b"null", "little")

_LOADS = {
    Kind.INT8: "load_i8(source, {at})",
    Kind.INT16: "load_i16(source, {at})",
    Kind.INT32: "load_i32(source, {at})",
    Kind.INT64: "load_i64(source, {at})",
    Kind.UINT16: "load_i16(source, {at}) & 0xFFFF",
    Kind.UINT32: "load_i32(source, {at}) & 0xFFFFFFFF",
}

_Lines = Iterator[str]


@inner
def json_array(source: Bytes, position: int, is_uuid: bool, output: Bytes, to: int) -> int:
    """Write a checked compact array of uuids, or else of int32, as JSON. Returns the position
    behind the JSON."""
    count, start = unsigned_varint(source, position, source.size)
    if count == 0:
        store_32(output, to, _NULL_TEXT)
        return to + 4
    return json_values.put_list(source, start, count - 1, is_uuid, output, to)


@inner
def variant_array(source: Bytes, position: int, is_uuid: bool, output: Bytes, to: int) -> int:
    """Write a checked compact array of uuids, or else of int32, as VARIANT. Returns the position
    behind the VARIANT."""
    count, start = unsigned_varint(source, position, source.size)
    if count == 0:
        store_8(output, to, 0)
        return to + 1
    count -= 1
    size = count * variant_values.UUID_VARIANT_SIZE
    if not is_uuid:
        size = 0
        for index in range(count):
            size += variant_values.integer_size(load_i32(source, start + 4 * index))
    width = variant_values.width_of(size)
    offsets = variant_values.open_array(output, to, count, width)
    begin = offsets + (count + 1) * width
    to = begin
    for index in range(count):
        variant_values.put_unsigned(output, offsets + index * width, to - begin, width)
        if is_uuid:
            to = variant_values.put_uuid_text(source, start + 16 * index, output, to)
        else:
            to = variant_values.put_integer(output, to, load_i32(source, start + 4 * index))
    variant_values.put_unsigned(output, offsets + count * width, to - begin, width)
    return to


@dataclass(frozen=True)
class _Form:
    """What the straight-line functions of one form have in common.

    arguments: their parameters.
    refusal: the text of the result for an invalid value.
    body: a function that makes the code for a valid value.
    interpret: the interpreter, for all other programs.
    names: the names that the code uses.
    """

    arguments: str
    refusal: str
    body: Callable[[Program], _Lines]
    interpret: Callable[..., Any]
    names: Mapping[str, Any]


def renderer(name: str) -> Callable[..., Any]:
    """A function that calls the straight-line function of a program, or the interpreter if the
    program has none. name: a key of _FORMS. The function has the form's arguments, and returns the
    same as the form's interpreter."""
    form = _FORMS[name]
    namespace: dict[str, Any] = {**vars(memory), **vars(locate), **form.names}
    namespace |= {made: function for made, function in globals().items() if made.startswith(name)}
    namespace |= {"inner": inner, "interpret": form.interpret, "unsigned_varint": unsigned_varint}
    parts = []
    choices = []
    for number, program in enumerate(KERNEL_PROGRAMS):
        if (program.schema.name, program.version) in COMMON:
            parts.append("@inner\n" + straight_source(program, name))
            call = f"{_name(program, name)}({form.arguments})"
            choices.append(f"    if program == {number}:\n        return {call}\n")
    dispatch = f"@inner\ndef render({form.arguments}):\n{''.join(choices)}"
    parts.append(f"{dispatch}    return interpret({form.arguments})\n")
    # no input gets into this text: it is made of names and numbers of kraftlake's own schema
    exec(compile("\n".join(parts), f"<straight {name}>", "exec"), namespace)  # noqa: S102
    render: Callable[..., Any] = namespace["render"]
    return render


def _name(program: Program, form: str) -> str:
    return f"{form}_{program.schema.name.lower()}_{program.version}"


def straight_source(program: Program, name: str) -> str:
    """The text of the straight-line function of one program. name: a key of _FORMS."""
    form = _FORMS[name]
    head = f"def {_name(program, name)}({form.arguments}):"
    lines = (*_locating(program, form.refusal), *form.body(program))
    return "\n".join((head, *(f"    {line}" for line in lines), ""))


def _locating(program: Program, refusal: str) -> _Lines:
    """The code that computes the places of the program's steps as place_0, place_1 and so on. The
    places are right only if `at == end` holds at the end of the code."""
    assert program.width == len(program.steps), "no structures"
    yield "at = position"
    for k, step in enumerate(program.steps):
        if step.is_tagged:
            yield f"place_{k} = long(ABSENT)"
        else:
            yield f"place_{k} = at"
            yield f"at = {_passed(step)}"
    yield "count, at = unsigned_varint(source, at, end)"
    yield "for _ in range(count):"
    yield "    tag, at = unsigned_varint(source, at, end)"
    yield "    size, at = unsigned_varint(source, at, end)"
    yield "    stop = at + size"
    yield "    if stop > end:"
    yield f"        return {refusal}"
    tags = [step.tag for step in program.steps if step.is_tagged]
    yield "    if " + (" and ".join(f"tag != {tag}" for tag in tags) or "True") + ":"
    yield f"        return {refusal}"  # An unknown tag: the scalar reader withholds its content.
    for k, step in enumerate(program.steps):
        if step.is_tagged:
            yield f"    if tag == {step.tag}:"
            yield f"        if place_{k} != ABSENT or {_passed(step)} != stop:"
            yield f"            return {refusal}"
            yield f"        if {_tagged_value(step)} != {default_of(step)}:"
            yield f"            place_{k} = at"
    yield "    at = stop"
    yield "if at != end:"
    yield f"    return {refusal}"


def _passed(step: FieldStep) -> str:
    """The code that computes the position after a value at `at`. If this position is beyond `end`,
    all later positions are beyond `end` too."""
    if step.is_array:
        return f"pass_fixed_array(source, at, end, {step.least_size}, {step.nullable})"
    if step.kind is Kind.STRING:
        return f"pass_text(source, at, end, True, {step.nullable})"
    return f"at + {step.least_size}"


def _tagged_value(step: FieldStep) -> str:
    return (
        "unsigned_varint(source, at, end)[0]"
        if step.is_array
        else _LOADS[step.kind].format(at="at")
    )


def _json_body(program: Program) -> _Lines:
    assert not program.steps[0].is_tagged, "the first label has no comma"
    for k, step in enumerate(program.steps):
        label = ("," if k else "{") + f'"{step.name}":'
        indent = ""
        if step.is_tagged:
            yield f"if place_{k} != ABSENT:"
            indent = "    "
        yield from (indent + line for line in _put_literal(label))
        yield f"{indent}to = {_written('json', step, f'place_{k}', 'to')}"
    yield from _put_literal("}")
    yield "return to"


def _put_literal(text: str) -> _Lines:
    raw = text.encode("ascii")
    if len(raw) == 1:
        yield f"store_8(output, to, {raw[0]})"
    else:
        for at in range(0, len(raw), 8):
            eight = int.from_bytes(raw[at : at + 8], "little")
            yield f"store_64(output, to + {at}, {eight})"
    yield f"to += {len(raw)}"


def _written(form: str, step: FieldStep, place: str, to: str) -> str:
    """The code that writes the value of a step at `to`, and computes the position after it."""
    if step.is_array:
        assert step.kind in (Kind.INT32, Kind.UUID), "json_array and variant_array write these"
        return f"{form}_array(source, {place}, {step.kind is Kind.UUID}, output, {to})"
    if step.kind is Kind.STRING:
        return f"put_text(source, {place}, True, output, {to})"
    if step.kind is Kind.UUID:
        return f"put_uuid_text(source, {place}, output, {to})"
    return f"put_integer(output, {to}, {_LOADS[step.kind].format(at=place)})"


def _variant_body(program: Program) -> _Lines:
    tagged = [k for k, step in enumerate(program.steps) if step.is_tagged]
    untagged = [k for k, step in enumerate(program.steps) if not step.is_tagged]
    bit = {k: 1 << program.names.index(step.name) for k, step in enumerate(program.steps)}
    yield f"count = {len(untagged)}"
    yield f"names = {sum(bit[k] for k in untagged)}"
    for k in tagged:
        yield f"if place_{k} != ABSENT:"
        yield "    count += 1"
        yield f"    names |= {bit[k]}"
    yield "at = to + 3 + 2 * count"
    yield "rank = 0"
    for k in sorted(bit, key=bit.__getitem__):
        step = program.steps[k]
        indent = ""
        if step.is_tagged:
            yield f"if place_{k} != ABSENT:"
            indent = "    "
        # Without structures the dictionary holds exactly the object's names, so an id is a rank.
        yield f"{indent}store_8(output, to + 2 + rank, rank)"
        yield f"{indent}at = {_written('variant', step, f'place_{k}', 'at')}"
        yield f"{indent}set_item(field_ends, rank, at)"
        yield f"{indent}rank += 1"
    yield "return close_object(output, to, count, at, field_ends), names"


def _places_body(program: Program) -> _Lines:
    for k in range(program.width):
        yield f"set_item(places, {k}, place_{k})"
    yield "return True"


_VALUE = "source, position, end, program"
_FORMS = {
    "json": _Form(
        f"{_VALUE}, output, to, places",
        "REFUSED",
        _json_body,
        json_values.interpret,
        vars(json_values),
    ),
    "variant": _Form(
        f"{_VALUE}, output, to, places, field_ends",
        "REFUSED, 0",
        _variant_body,
        variant_values.interpret,
        vars(variant_values),
    ),
    "places": _Form(f"{_VALUE}, places", "False", _places_body, locate.locate, {}),
}
