"""Reads a record's fields from its bytes.

Each program is compiled once into a tuple of functions. Before a function allocates memory for a
value, it checks that the buffer holds enough bytes. The schema limits the depth of nested
structures.

This reader is stricter than Kafka. It refuses more than MAX_ELEMENTS elements, text that is not
UTF-8 (Kafka replaces it by U+FFFD, which could not be written back), a known tagged field whose
size is not its value's size (Kafka ignores the size), and a length of 2 GiB or more (Kafka reads
null).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from replica.errors import CorruptDataError, TruncatedDataError, UnsupportedDataError
from replica.message.primitives import read_unsigned_varint, require, uuid_text
from replica.message.program import FIXED_LAYOUTS, FieldStep, Program
from replica.message.schema import Kind, Path, RecordSchema, TaggedFields, Value

MAX_ELEMENTS = 100_000
"""The most elements of all arrays and tagged fields in one record. A partition has a few replicas
and a broker a few listeners, so Kafka's records have less than a hundredth of this."""

Fields: TypeAlias = dict[str, Value]


class Notes:
    """What a reader finds in a record besides its fields.

    odd: whether a writer would write the same fields as other bytes. KIP-482 allows this: an
        explicit default, tags out of order, a padded varint, a bool above 1.
    unknown: the tagged fields that the schema doesn't know, for each structure.
    """

    __slots__ = ("elements", "odd", "path", "unknown")

    def __init__(self) -> None:
        self.elements = 0
        self.odd = False
        self.path: Path = ()
        self.unknown: list[tuple[Path, TaggedFields]] = []

    def count(self, elements: int, position: int) -> None:
        """Add to the count of elements and tagged fields. Raises UnsupportedDataError above the
        limit."""
        self.elements += elements
        if self.elements > MAX_ELEMENTS:
            raise UnsupportedDataError(
                f"more than {MAX_ELEMENTS} array elements and tagged fields in one record are not "
                "read",
                position,
            )


Part: TypeAlias = Callable[[bytes, int, Fields, Notes], int]
"""(buffer, position, fields to fill, notes) -> the position after the read bytes."""

StructReader: TypeAlias = Callable[[bytes, int, Notes], tuple[Fields, int]]
ElementReader: TypeAlias = Callable[[bytes, int, Notes], tuple[Value, int]]


def record_reader(program: Program) -> StructReader:
    """A function that reads a whole record: (bytes, position of its first field, notes) -> (fields,
    the position after them). The caller checks that this is the end of the bytes (see left_over).

    It raises TruncatedDataError, CorruptDataError or UnsupportedDataError, whose positions count
    from the start of the bytes.
    """
    return _struct_reader(program, 0, program.width)


def left_over(schema: RecordSchema, data: bytes, end: int) -> CorruptDataError:
    """The error for bytes behind a record that ends at `end`."""
    return CorruptDataError(f"{len(data) - end} bytes follow the {schema.name}", end)


def read_varint(data: bytes, position: int, what: str, notes: Notes) -> tuple[int, int]:
    """(an unsigned varint, the position after it). A padded varint is noted as odd."""
    if position < len(data) and data[position] < 0x80:
        return data[position], position + 1
    value, end = read_unsigned_varint(data, position, what)
    padded = end - position != (value.bit_length() + 6) // 7
    beyond_32_bits = end - position == 5 and data[end - 1] > 0x0F
    if padded or beyond_32_bits:
        notes.odd = True
    return value, end


@lru_cache(maxsize=1 << 14)
def _uuid(raw: bytes) -> str:
    # cached, because many records have the same topic and directory ids
    return uuid_text(raw)


def _struct_reader(program: Program, first: int, end: int) -> StructReader:
    untagged, tagged = program.wire_order(first, end)
    parts = _untagged_parts(program, untagged)
    readers = {step.tag: (step, _part(program, step)) for step in tagged}
    template: Fields = {step.name: step.default for step in program.steps[first:end]}

    def read(data: bytes, position: int, notes: Notes) -> tuple[Fields, int]:
        fields = template.copy()
        for part in parts:
            position = part(data, position, fields, notes)
        if position < len(data) and not data[position]:
            return fields, position + 1
        return fields, _read_tagged(data, position, fields, notes, readers)

    return read


def _read_tagged(
    data: bytes,
    position: int,
    fields: Fields,
    notes: Notes,
    readers: dict[int, tuple[FieldStep, Part]],
) -> int:
    count, at = read_varint(data, position, "tagged field count", notes)
    if 2 * count > len(data) - at:
        left = len(data) - at
        reason = f"{count} tagged fields are claimed, only {left} bytes are left"
        raise TruncatedDataError(reason, position)
    notes.count(count, position)
    unknown: list[tuple[int, bytes]] = []
    last_tag = -1
    for _ in range(count):
        tag, size_at = read_varint(data, at, "tag", notes)
        size, start = read_varint(data, size_at, "tagged field size", notes)
        end = require(data, start, size, f"tagged field {tag}")
        if tag <= last_tag:
            notes.odd = True
        last_tag = tag
        known = readers.get(tag)
        if known is None:
            unknown.append((tag, data[start:end]))
        else:
            step, part = known
            if part(data, start, fields, notes) != end:
                raise CorruptDataError(f"{step.name} does not fill its {size} bytes", start)
            if fields[step.name] == step.default:
                notes.odd = True
        at = end
    if unknown:
        notes.unknown.append((notes.path, tuple(unknown)))
    return at


def _untagged_parts(program: Program, steps: tuple[FieldStep, ...]) -> tuple[Part, ...]:
    """The parts of the untagged fields. Adjacent fields of fixed size share a part, which reads
    them by one call of struct."""
    parts: list[Part] = []
    run: list[FieldStep] = []
    for step in steps:
        if not step.is_array and step.kind in FIXED_LAYOUTS and step.kind is not Kind.BOOL:
            run.append(step)
            continue
        if run:
            parts.append(_fixed_part(tuple(run)))
            run = []
        parts.append(_part(program, step))
    if run:
        parts.append(_fixed_part(tuple(run)))
    return tuple(parts)


def _part(program: Program, step: FieldStep) -> Part:
    if step.is_array:
        if step.kind is Kind.STRUCT:
            return _array_part(step, _struct_reader(program, step.first, step.end))
        if step.kind in FIXED_LAYOUTS:
            return _fixed_array_part(step)
        return _array_part(step, lambda data, at, notes: _text(data, at, step, notes))
    if step.kind is Kind.BOOL:
        return _bool_part(step)
    if step.kind in FIXED_LAYOUTS:
        return _fixed_part((step,))
    if step.kind is Kind.STRUCT:
        return _struct_part(step, _struct_reader(program, step.first, step.end))
    return _text_part(step)


def _fixed_part(steps: tuple[FieldStep, ...]) -> Part:
    layout = struct.Struct(">" + "".join(FIXED_LAYOUTS[step.kind] for step in steps))
    size, unpack = layout.size, layout.unpack_from
    names = tuple(step.name for step in steps)
    uuids = tuple(step.name for step in steps if step.kind is Kind.UUID)

    def read(data: bytes, position: int, fields: Fields, notes: Notes) -> int:
        end = position + size
        if end > len(data):
            raise _cut_short(data, position, steps)
        fields.update(zip(names, unpack(data, position), strict=True))
        for uuid in uuids:
            fields[uuid] = _uuid(fields[uuid])  # type: ignore[arg-type]
        return end

    return read


def _cut_short(data: bytes, position: int, steps: tuple[FieldStep, ...]) -> TruncatedDataError:
    """The error for the first field that isn't complete in the buffer."""
    for step in steps:
        if position + step.least_size > len(data):
            left = len(data) - position
            reason = f"{step.name} needs {step.least_size} bytes, only {left} are left"
            return TruncatedDataError(reason, position)
        position += step.least_size
    raise AssertionError("the buffer holds every field")


def _bool_part(step: FieldStep) -> Part:
    name = step.name

    def read(data: bytes, position: int, fields: Fields, notes: Notes) -> int:
        require(data, position, 1, name)
        raw = data[position]
        if raw > 1:
            notes.odd = True
        fields[name] = raw != 0
        return position + 1

    return read


def _text(
    data: bytes, position: int, step: FieldStep, notes: Notes
) -> tuple[str | bytes | None, int]:
    """(a compact string or bytes, by the step's kind, or None for null; the position after it)."""
    size, start = read_varint(data, position, step.name, notes)
    if size == 0:
        if step.nullable and not step.is_array:
            return None, start
        raise CorruptDataError(f"{step.name} is null", position)
    end = start + size - 1
    if end > len(data):
        require(data, start, size - 1, step.name)
    raw = data[start:end]
    if step.kind is Kind.BYTES:
        return raw, end
    try:
        return raw.decode(), end
    except UnicodeDecodeError as error:
        at = start + error.start
        raise CorruptDataError(f"{step.name} is not UTF-8", at) from error


def _text_part(step: FieldStep) -> Part:
    name = step.name

    def read(data: bytes, position: int, fields: Fields, notes: Notes) -> int:
        fields[name], end = _text(data, position, step, notes)
        return end

    return read


def _array_count(data: bytes, position: int, step: FieldStep, notes: Notes) -> tuple[int, int]:
    """(the number of elements, -1 for null; the position of the first element). Raises DataError if
    the buffer can't hold this many elements, and for a null that isn't allowed."""
    count, start = read_varint(data, position, step.name, notes)
    if count == 0 and not step.nullable:
        raise CorruptDataError(f"{step.name} is null", position)
    if (count - 1) * step.least_size > len(data) - start:
        left = len(data) - start
        reason = f"{step.name} claims {count - 1} elements, only {left} bytes are left"
        raise TruncatedDataError(reason, position)
    if count:
        notes.count(count - 1, position)
    return count - 1, start


def _fixed_array_part(step: FieldStep) -> Part:
    name, letter, size = step.name, FIXED_LAYOUTS[step.kind], step.least_size
    is_uuid = step.kind is Kind.UUID
    assert step.kind is not Kind.BOOL, "no record has an array of bools"
    short = tuple(struct.Struct(">" + letter * count) for count in range(9))

    def read(data: bytes, position: int, fields: Fields, notes: Notes) -> int:
        count, start = _array_count(data, position, step, notes)
        if count < 0:
            fields[name] = None
            return start
        if count < len(short):
            layout = short[count]
        else:
            layout = struct.Struct(">" + (letter * count if is_uuid else f"{count}{letter}"))
        values = layout.unpack_from(data, start)
        fields[name] = tuple(map(_uuid, values)) if is_uuid else values
        return start + count * size

    return read


def _struct_part(step: FieldStep, read_struct: StructReader) -> Part:
    name = step.name

    def read(data: bytes, position: int, fields: Fields, notes: Notes) -> int:
        outer = notes.path
        notes.path = (*outer, name)
        fields[name], end = read_struct(data, position, notes)
        notes.path = outer
        return end

    return read


def _array_part(step: FieldStep, read_one: ElementReader) -> Part:
    """The function that reads an array whose elements differ in size."""
    name = step.name

    def read(data: bytes, position: int, fields: Fields, notes: Notes) -> int:
        count, at = _array_count(data, position, step, notes)
        if count < 0:
            fields[name] = None
            return at
        outer = notes.path
        values = []
        for index in range(count):
            notes.path = (*outer, name, index)
            value, at = read_one(data, at, notes)
            values.append(value)
        notes.path = outer
        fields[name] = tuple(values)
        return at

    return read
