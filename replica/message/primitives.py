"""The scalar encodings of Kafka's protocol, with those of KIP-482's flexible versions.

Readers are functions (buffer, position) -> (value, next position). A buffer is bytes or a
memoryview of bytes. If the buffer ends within a value, a reader raises TruncatedDataError with the
position of the value's first byte. Writers append to a bytearray.

    unsigned varint   7 bits a byte, lowest first, at most 5 bytes (ByteUtils.readUnsignedVarint)
    varint, varlong   zigzag over an unsigned varint of 5 / 10 bytes; used inside record batches
    compact length    unsigned varint of length + 1, 0 meaning null
    uuid              16 bytes, shown as url-safe base64 without padding (Uuid.toString)
"""

from __future__ import annotations

import base64
import re
from typing import TypeAlias

from replica.errors import CorruptDataError, TruncatedDataError

Buffer: TypeAlias = bytes | bytearray | memoryview

_UINT32_MASK = 0xFFFFFFFF
_UINT64_MASK = 0xFFFFFFFFFFFFFFFF
_UUID_TEXT = re.compile(r"[A-Za-z0-9_-]{22}")


def require(buffer: Buffer, position: int, size: int, what: str) -> int:
    """The position after `size` bytes. Raises TruncatedDataError if the buffer has fewer."""
    end = position + size
    if end > len(buffer):
        left = max(0, len(buffer) - position)
        raise TruncatedDataError(f"{what} needs {size} bytes, only {left} are left", position)
    return end


def _read_unsigned(buffer: Buffer, position: int, max_bytes: int, what: str) -> tuple[int, int]:
    value = 0
    for index in range(max_bytes):
        at = position + index
        if at >= len(buffer):
            raise TruncatedDataError(f"{what} breaks off", position)
        byte = buffer[at]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + 1
    raise CorruptDataError(f"{what} is longer than {max_bytes} bytes", position)


def read_unsigned_varint(buffer: Buffer, position: int, what: str = "varint") -> tuple[int, int]:
    """(an unsigned varint of 32 bits, the position after it). The surplus bits of the fifth byte
    are dropped, as in Java. what: the varint's name in errors."""
    value, end = _read_unsigned(buffer, position, 5, what)
    return value & _UINT32_MASK, end


def read_varint(buffer: Buffer, position: int, what: str = "varint") -> tuple[int, int]:
    """(a zigzag varint of 32 bits, the position after it). what: the varint's name in errors."""
    value, end = read_unsigned_varint(buffer, position, what)
    return (value >> 1) ^ -(value & 1), end


def read_varlong(buffer: Buffer, position: int, what: str = "varlong") -> tuple[int, int]:
    """(a zigzag varint of 64 bits, the position after it). what: the varint's name in errors."""
    value, end = _read_unsigned(buffer, position, 10, what)
    value &= _UINT64_MASK
    return (value >> 1) ^ -(value & 1), end


def write_unsigned_varint(out: bytearray, value: int) -> None:
    """Append an unsigned value in its shortest form. 0 <= value < 2**64."""
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_varint(out: bytearray, value: int) -> None:
    """Append a signed 32-bit value in zigzag form."""
    write_unsigned_varint(out, ((value << 1) ^ (value >> 31)) & _UINT32_MASK)


def write_varlong(out: bytearray, value: int) -> None:
    """Append a signed 64-bit value in zigzag form."""
    write_unsigned_varint(out, ((value << 1) ^ (value >> 63)) & _UINT64_MASK)


def uuid_text(raw: Buffer) -> str:
    """16 bytes as Kafka prints them: url-safe base64, 22 characters."""
    return base64.urlsafe_b64encode(bytes(raw)).rstrip(b"=").decode("ascii")


def uuid_bytes(text: str) -> bytes:
    """The 16 bytes of a UUID of 22 characters. Raises CorruptDataError for any other text."""
    if _UUID_TEXT.fullmatch(text) is None:
        raise CorruptDataError(f"{text[:40]!r} is not a UUID of 22 base64 characters", 0)
    return base64.b64decode(text + "==", altchars=b"-_")
