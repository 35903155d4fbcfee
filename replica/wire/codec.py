"""Messages to bytes and back, by the tables of replica.wire.apis.

Each version of each structure is compiled once to a chain of closures. Decoding either gives a
Message or raises a DataError with the position of the wrong byte. Decoding allocates memory only
for bytes that are present, never for a length that a field claims: each element of an array needs
bytes, and a message has at most MAX_ELEMENTS elements.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from replica.errors import CorruptDataError, TruncatedDataError
from replica.message.primitives import (
    Buffer,
    read_unsigned_varint,
    uuid_bytes,
    uuid_text,
    write_unsigned_varint,
)
from replica.message.program import FIXED_LAYOUTS
from replica.message.schema import Field, Kind, fields_at
from replica.wire.schema import Message, Structure

MAX_ELEMENTS = 100_000
"""The most elements of arrays and tagged fields that one message may have."""
LARGE_BYTES = 16 * 1024
"""A field of at least this many bytes is sent without a copy."""

_LAYOUTS = {kind: struct.Struct(f">{letter}") for kind, letter in FIXED_LAYOUTS.items()}
_LAYOUTS[Kind.BOOL] = struct.Struct(">?")
_INT16, _INT32 = _LAYOUTS[Kind.INT16], _LAYOUTS[Kind.INT32]
_UUID_SIZE = 16
_MAX_INT16, _MAX_INT32 = 2**15 - 1, 2**31 - 1


class _Cursor:
    """The position of a reader in `data`, and the number of array elements that it may still
    decode."""

    __slots__ = ("at", "data", "elements", "most")

    def __init__(self, data: Buffer, at: int, most: int) -> None:
        self.data = data
        self.at = at
        self.most = self.elements = most

    def take(self, size: int, what: str) -> int:
        """Move over `size` bytes. Returns the position of the first of these bytes."""
        at, end = self.at, self.at + size
        if end > len(self.data):
            left = len(self.data) - at
            raise TruncatedDataError(f"{what} needs {size} bytes, only {left} are left", at)
        self.at = end
        return at

    def count(self, elements: int, name: str, at: int) -> None:
        """Count elements before they are decoded. Raises DataError if there are too many
        elements."""
        self.elements -= elements
        if self.elements < 0:
            raise CorruptDataError(f"more than {self.most} elements, at {name}", at)

    def varint(self, what: str) -> int:
        value, self.at = read_unsigned_varint(self.data, self.at, what)
        return value


_Reader: TypeAlias = Callable[[_Cursor], Any]
_Writer: TypeAlias = Callable[[bytearray, Any], None]


def decode(
    structure: Structure, version: int, data: Buffer, start: int = 0, most: int = MAX_ELEMENTS
) -> Message:
    """The message in `data` from byte `start` to its end, of at most `most` elements.

    Raises DataError for malformed bytes, and for bytes behind the message.
    """
    message, end = decode_prefix(structure, version, data, start, most)
    if end != len(data):
        reason = f"{structure.name} v{version} ends {len(data) - end} bytes before its frame"
        raise CorruptDataError(reason, end)
    return message


def decode_prefix(
    structure: Structure, version: int, data: Buffer, start: int, most: int = MAX_ELEMENTS
) -> tuple[Message, int]:
    """The message that begins at byte `start`, and the position after it. Raises DataError for
    malformed bytes."""
    cursor = _Cursor(data, start, most)
    message = _structure_reader(structure, version)(cursor)
    return message, cursor.at


class EncodedPieces(bytearray):
    """Encoded bytes. Large fields are not copied: the answer to a fetch has megabytes, and copying
    them would cost more than the rest of the answer."""

    def __init__(self) -> None:
        super().__init__()
        self._large: list[tuple[int, Buffer]] = []

    def put(self, raw: Buffer) -> None:
        """Add the bytes of a field. Large bytes are not copied, so these bytes must not change
        later."""
        if len(raw) < LARGE_BYTES:
            self.extend(raw)
        else:
            self._large.append((len(self), raw))

    def all(self) -> list[Buffer]:
        """The pieces in order. The caller must add nothing after this call."""
        view, at = memoryview(self), 0
        found: list[Buffer] = []
        for before, raw in self._large:
            found += [view[at:before], raw]
            at = before
        return [*found, view[at:]]


def encode(structure: Structure, version: int, message: Message) -> bytearray:
    """The bytes of a message. Missing fields get their defaults; fields that this version lacks are
    left out. Raises CorruptDataError for text or bytes that are longer than the format allows."""
    out = bytearray()
    encode_to(out, structure, version, message)
    return out


def encode_to(out: bytearray, structure: Structure, version: int, message: Message) -> None:
    """Append an encoded message to the bytes of `out`."""
    _structure_writer(structure, version)(out, message)


@cache
def _structure_reader(structure: Structure, version: int) -> _Reader:
    assert version in structure.versions, f"{structure.name} has no version {version}"
    return _struct_reader(structure.fields, version, structure.is_flexible(version))


@cache
def _structure_writer(structure: Structure, version: int) -> _Writer:
    assert version in structure.versions, f"{structure.name} has no version {version}"
    return _struct_writer(structure.fields, version, structure.is_flexible(version))


def _struct_reader(fields: tuple[Field, ...], version: int, flexible: bool) -> _Reader:
    present = fields_at(fields, version)
    plain = [(f.name, _field_reader(f, version, flexible)) for f in present if f.tag is None]
    tagged = {
        f.tag: (f.name, _field_reader(f, version, flexible)) for f in present if f.tag is not None
    }
    absent = {f.name: f.default for f in fields if f not in present or f.tag is not None}

    def read(cursor: _Cursor) -> Message:
        message = dict(absent)
        for name, reader in plain:
            message[name] = reader(cursor)
        if flexible:
            _read_tagged(cursor, tagged, message)
        return message

    return read


def _read_tagged(cursor: _Cursor, known: dict[int, tuple[str, _Reader]], message: Message) -> None:
    """Read tagged fields. Their tags must rise. Fields with unknown tags are skipped."""
    last = -1
    for _ in range(cursor.varint("tagged field count")):
        at = cursor.at
        cursor.count(1, "tagged fields", at)
        tag = cursor.varint("tag")
        if tag <= last:
            raise CorruptDataError(f"tag {tag} after tag {last}", at)
        last = tag
        size = cursor.varint("tagged field size")
        begin = cursor.take(size, f"tagged field {tag}")
        if tag not in known:
            continue
        end, cursor.at = cursor.at, begin
        name, reader = known[tag]
        message[name] = reader(cursor)
        if cursor.at != end:
            raise CorruptDataError(f"{name} doesn't fill its {size} bytes", begin)


def _field_reader(field: Field, version: int, flexible: bool) -> _Reader:
    nullable = field.is_nullable(version)
    if not field.is_array:
        return _kind_reader(field, version, flexible, nullable)
    element = _kind_reader(field, version, flexible, nullable=False)
    least = max(1, _least_size(field, version, flexible))
    count_of = _count_reader(field.name, flexible, nullable, "elements")
    name = field.name

    def read(cursor: _Cursor) -> list[Any] | None:
        at = cursor.at
        count = count_of(cursor)
        if count < 0:
            return None
        if count * least > len(cursor.data) - cursor.at:
            raise TruncatedDataError(f"{name} claims {count} elements", at)
        cursor.count(count, name, at)
        return [element(cursor) for _ in range(count)]

    return read


def _count_reader(
    name: str, flexible: bool, nullable: bool, unit: str, *, is_short: bool = False
) -> Callable[[_Cursor], int]:
    """The reader of a count of elements or bytes. This reader gives -1 for null, if null is
    allowed."""
    what, layout = f"{name} length", _INT16 if is_short else _INT32

    def read(cursor: _Cursor) -> int:
        at = cursor.at
        count: int
        if flexible:
            count = cursor.varint(what) - 1
        else:
            (count,) = layout.unpack_from(cursor.data, cursor.take(layout.size, what))
        if count < 0 and not (nullable and count == -1):
            raise CorruptDataError(f"{name} has {count} {unit}", at)
        return count

    return read


def _kind_reader(field: Field, version: int, flexible: bool, nullable: bool) -> _Reader:
    name, kind = field.name, field.kind
    if kind is Kind.STRUCT:
        return _struct_reader(field.fields, version, flexible)
    if kind in (Kind.STRING, Kind.BYTES):
        return _text_reader(name, flexible, nullable, is_text=kind is Kind.STRING)
    if kind is Kind.UUID:
        return lambda cursor: _read_uuid(cursor, name)
    unpack, size = _LAYOUTS[kind].unpack_from, _LAYOUTS[kind].size
    return lambda cursor: unpack(cursor.data, cursor.take(size, name))[0]


def _read_uuid(cursor: _Cursor, name: str) -> str:
    at = cursor.take(_UUID_SIZE, name)
    return uuid_text(cursor.data[at : at + _UUID_SIZE])


def _text_reader(name: str, flexible: bool, nullable: bool, *, is_text: bool) -> _Reader:
    """The reader of a string or of bytes. Inflexible versions have lengths of 2 or 4 bytes."""
    size_of = _count_reader(name, flexible, nullable, "bytes", is_short=is_text)

    def read(cursor: _Cursor) -> str | bytes | None:
        size = size_of(cursor)
        if size < 0:
            return None
        begin = cursor.take(size, name)
        raw = bytes(cursor.data[begin : begin + size])
        if not is_text:
            return raw
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorruptDataError(f"{name} is not UTF-8", begin) from error

    return read


def _least_size(field: Field, version: int, flexible: bool) -> int:
    """The fewest bytes that one element of the array `field` can take."""
    if field.kind is Kind.STRUCT:
        inner = [f for f in fields_at(field.fields, version) if f.tag is None]
        return flexible + sum(
            (1 if flexible else 4) if f.is_array else _least_size(f, version, flexible)
            for f in inner
        )
    if field.kind in (Kind.STRING, Kind.BYTES):
        return 1 if flexible else (2 if field.kind is Kind.STRING else 4)
    return _LAYOUTS[field.kind].size


def _struct_writer(fields: tuple[Field, ...], version: int, flexible: bool) -> _Writer:
    present = fields_at(fields, version)
    names = frozenset(f.name for f in fields)
    plain = [
        (f.name, f.default, _field_writer(f, version, flexible)) for f in present if f.tag is None
    ]
    tagged = [
        (f.tag, f.name, f.default, _field_writer(f, version, flexible))
        for f in present
        if f.tag is not None
    ]
    tagged.sort(key=lambda entry: entry[0])

    def write(out: bytearray, message: Message) -> None:
        assert names.issuperset(message), f"unknown fields: {message.keys() - names}"
        for name, default, writer in plain:
            writer(out, message.get(name, default))
        if flexible:
            _write_tagged(out, tagged, message)

    return write


def _write_tagged(
    out: bytearray, tagged: list[tuple[int, str, Any, _Writer]], message: Message
) -> None:
    """Write the tagged fields whose values differ from their defaults, by rising tag."""
    given = [
        (tag, message[name], writer)
        for tag, name, default, writer in tagged
        if name in message and message[name] != default
    ]
    write_unsigned_varint(out, len(given))
    for tag, value, writer in given:
        raw = bytearray()
        writer(raw, value)
        write_unsigned_varint(out, tag)
        write_unsigned_varint(out, len(raw))
        out += raw


def _field_writer(field: Field, version: int, flexible: bool) -> _Writer:
    nullable = field.is_nullable(version)
    if not field.is_array:
        return _kind_writer(field, version, flexible, nullable)
    element = _kind_writer(field, version, flexible, nullable=False)
    write_count = _count_writer(field.name, flexible)
    name = field.name

    def write(out: bytearray, values: list[Any] | tuple[Any, ...] | None) -> None:
        if values is None:
            assert nullable, f"{name} can't be null in version {version}"
            write_count(out, -1)
            return
        write_count(out, len(values))
        for value in values:
            element(out, value)

    return write


def _count_writer(name: str, flexible: bool, *, is_short: bool = False) -> _Writer:
    """The writer of a count of elements or bytes; -1 stands for null."""
    if flexible:
        return lambda out, count: write_unsigned_varint(out, count + 1)
    layout, most = (_INT16, _MAX_INT16) if is_short else (_INT32, _MAX_INT32)

    def write(out: bytearray, count: int) -> None:
        if count > most:
            raise CorruptDataError(f"{name} is longer than {most} bytes")
        out += layout.pack(count)

    return write


def _kind_writer(field: Field, version: int, flexible: bool, nullable: bool) -> _Writer:
    kind = field.kind
    if kind is Kind.STRUCT:
        return _struct_writer(field.fields, version, flexible)
    if kind in (Kind.STRING, Kind.BYTES):
        return _text_writer(field.name, flexible, nullable, is_text=kind is Kind.STRING)
    if kind is Kind.UUID:
        return _write_uuid
    pack = _LAYOUTS[kind].pack

    def write(out: bytearray, value: int) -> None:
        out += pack(value)

    return write


def _write_uuid(out: bytearray, text: str) -> None:
    out += uuid_bytes(text)


def _text_writer(name: str, flexible: bool, nullable: bool, *, is_text: bool) -> _Writer:
    write_count = _count_writer(name, flexible, is_short=is_text)

    def write(out: bytearray, value: str | Buffer | None) -> None:
        if value is None:
            assert nullable, f"{name} can't be null"
            write_count(out, -1)
            return
        raw = value.encode("utf-8") if isinstance(value, str) else value
        write_count(out, len(raw))
        if isinstance(out, EncodedPieces):
            out.put(raw)
        else:
            out += raw

    return write
