"""Flexible-version pieces of Kafka's messages: compact strings and arrays, tagged fields (KIP-482).

Tagged fields are kept as ((tag, raw bytes), ...) in the order of the wire, known or not.
"""

from __future__ import annotations

from typing import TypeAlias

from replica.errors import CorruptDataError, TruncatedDataError
from replica.format.primitives import (
    Buffer,
    read_unsigned_varint,
    require,
    write_unsigned_varint,
)

TaggedFields: TypeAlias = tuple[tuple[int, bytes], ...]


def read_string(buffer: Buffer, position: int, what: str) -> tuple[str, int]:
    """A compact string that may not be null."""
    size, start = read_unsigned_varint(buffer, position, f"{what} length")
    if size == 0:
        raise CorruptDataError(f"{what} is null", position)
    end = require(buffer, start, size - 1, what)
    try:
        return bytes(buffer[start:end]).decode("utf-8"), end
    except UnicodeDecodeError as error:
        raise CorruptDataError(f"{what} is not UTF-8", position) from error


def write_string(out: bytearray, text: str) -> None:
    """A compact string."""
    raw = text.encode("utf-8")
    write_unsigned_varint(out, len(raw) + 1)
    out += raw


def read_array_length(buffer: Buffer, position: int, what: str) -> tuple[int, int]:
    """Elements of a compact array that may not be null; no more than bytes are left."""
    count, start = read_unsigned_varint(buffer, position, f"{what} count")
    if count == 0:
        raise CorruptDataError(f"{what} is null", position)
    if count - 1 > len(buffer) - start:
        raise TruncatedDataError(f"{what} claims {count - 1} elements", position)
    return count - 1, start


def write_array_length(out: bytearray, count: int) -> None:
    """The count in front of a compact array."""
    write_unsigned_varint(out, count + 1)


def read_tagged(buffer: Buffer, position: int) -> tuple[TaggedFields, int]:
    """All tagged fields of one structure; tags must rise strictly."""
    count, at = read_unsigned_varint(buffer, position, "tagged field count")
    fields: list[tuple[int, bytes]] = []
    for _ in range(count):
        tag_at = at
        tag, at = read_unsigned_varint(buffer, at, "tag")
        if fields and tag <= fields[-1][0]:
            raise CorruptDataError(f"tag {tag} after tag {fields[-1][0]}", tag_at)
        size, at = read_unsigned_varint(buffer, at, "tagged field size")
        end = require(buffer, at, size, f"tagged field {tag}")
        fields.append((tag, bytes(buffer[at:end])))
        at = end
    return tuple(fields), at


def write_tagged(out: bytearray, fields: TaggedFields) -> None:
    """Tagged fields in the given order."""
    write_unsigned_varint(out, len(fields))
    for tag, raw in fields:
        write_unsigned_varint(out, tag)
        write_unsigned_varint(out, len(raw))
        out += raw
