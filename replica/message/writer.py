"""Writes a record's fields as bytes, the inverse of replica.message.reader.

Kafka's generated writers give the same bytes: a tagged field is written only if its value differs
from the default, unknown tagged fields are inserted in the order of their tags, and lengths have
their shortest form.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias

from replica.errors import CorruptDataError
from replica.message.primitives import uuid_bytes, write_unsigned_varint
from replica.message.program import FIXED_LAYOUTS, FieldStep, Program
from replica.message.schema import Kind, Path, TaggedFields, Value

Unknown: TypeAlias = Mapping[Path, TaggedFields]

StructWriter: TypeAlias = Callable[[bytearray, Mapping[str, Value], Path, Unknown], None]


def record_writer(program: Program) -> StructWriter:
    """A function that appends a whole record's bytes. Its arguments are the output, the fields, ()
    for the path, and the unknown tagged fields. It raises CorruptDataError for a field whose value
    doesn't fit its type."""
    return _struct_writer(program, 0, program.width)


def _struct_writer(program: Program, first: int, end: int) -> StructWriter:
    untagged, tagged = program.wire_order(first, end)
    always = tuple((step, _field_writer(program, step)) for step in untagged)
    sometimes = tuple((step, _field_writer(program, step)) for step in tagged)

    def write(out: bytearray, fields: Mapping[str, Value], path: Path, unknown: Unknown) -> None:
        for step, put in always:
            put(out, _field(fields, step), path, unknown)
        entries: list[tuple[int, bytes]] = list(unknown.get(path, ()))
        for step, put in sometimes:
            value = _field(fields, step)
            if value != step.default:
                raw = bytearray()
                put(raw, value, path, unknown)
                entries.append((step.tag, bytes(raw)))
        entries.sort(key=lambda entry: entry[0])
        write_unsigned_varint(out, len(entries))
        for tag, content in entries:
            write_unsigned_varint(out, tag)
            write_unsigned_varint(out, len(content))
            out += content

    return write


def _field(fields: Mapping[str, Value], step: FieldStep) -> Value:
    try:
        return fields[step.name]
    except KeyError as error:
        raise CorruptDataError(f"{step.name} is missing") from error


FieldWriter: TypeAlias = Callable[[bytearray, Value, Path, Unknown], None]


def _field_writer(program: Program, step: FieldStep) -> FieldWriter:
    if step.kind is Kind.STRUCT:
        of_struct = _struct_array_writer if step.is_array else _one_struct_writer
        return of_struct(step, _struct_writer(program, step.first, step.end))
    put = _scalar_writer(step)

    def write_array(out: bytearray, value: Value, path: Path, unknown: Unknown) -> None:
        for element in _write_count(out, value, step):
            put(out, element, path, unknown)

    return write_array if step.is_array else put


def _write_count(out: bytearray, value: Value, step: FieldStep) -> tuple[Value, ...]:
    """Append the count of an array. Returns its elements, which are empty for null."""
    if value is None and step.nullable:
        out.append(0)
        return ()
    if not isinstance(value, tuple):
        raise _misfit(step, value)
    write_unsigned_varint(out, len(value) + 1)
    return value


def _struct_array_writer(step: FieldStep, write_struct: StructWriter) -> FieldWriter:
    def write(out: bytearray, value: Value, path: Path, unknown: Unknown) -> None:
        for index, element in enumerate(_write_count(out, value, step)):
            if not isinstance(element, dict):
                raise _misfit(step, element)
            write_struct(out, element, (*path, step.name, index), unknown)

    return write


def _one_struct_writer(step: FieldStep, write_struct: StructWriter) -> FieldWriter:
    def write(out: bytearray, value: Value, path: Path, unknown: Unknown) -> None:
        if not isinstance(value, dict):
            raise _misfit(step, value)
        write_struct(out, value, (*path, step.name), unknown)

    return write


def _scalar_writer(step: FieldStep) -> FieldWriter:
    if step.kind in (Kind.STRING, Kind.BYTES):
        return _text_writer(step)
    if step.kind is Kind.UUID:
        return _uuid_writer(step)
    layout = struct.Struct(">" + FIXED_LAYOUTS[step.kind])

    def put(out: bytearray, value: Value, path: Path, unknown: Unknown) -> None:
        try:
            out += layout.pack(value)
        except struct.error as error:
            raise _misfit(step, value) from error

    return put


def _uuid_writer(step: FieldStep) -> FieldWriter:
    def put(out: bytearray, value: Value, path: Path, unknown: Unknown) -> None:
        if not isinstance(value, str):
            raise _misfit(step, value)
        out += uuid_bytes(value)

    return put


def _text_writer(step: FieldStep) -> FieldWriter:
    expected = str if step.kind is Kind.STRING else bytes
    may_be_null = step.nullable and not step.is_array

    def put(out: bytearray, value: Value, path: Path, unknown: Unknown) -> None:
        if value is None and may_be_null:
            out.append(0)
            return
        if not isinstance(value, str | bytes) or not isinstance(value, expected):
            raise _misfit(step, value)
        try:
            raw = value.encode() if isinstance(value, str) else value
        except UnicodeEncodeError as error:  # the text holds half of a surrogate pair
            raise _misfit(step, value) from error
        write_unsigned_varint(out, len(raw) + 1)
        out += raw

    return put


def _misfit(step: FieldStep, value: Value) -> CorruptDataError:
    shape = f"[]{step.kind.value}" if step.is_array else step.kind.value
    # the error doesn't show the value, which may be a secret
    return CorruptDataError(f"{step.name}: the {type(value).__name__} doesn't fit into {shape}")
