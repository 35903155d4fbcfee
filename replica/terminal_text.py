"""Text for a terminal. All printed text passes through this module, so that no name of a stranger
moves the cursor, changes colours or titles, changes the direction of a line or begins another line.
Besides this module only jobs.cli.output writes to the standard streams."""

from __future__ import annotations

import re
import sys

# Line and paragraph separators, and characters that change the direction of the following text.
_TURNING = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
# Further invisible characters. Two names that differ only in them would look the same.
_UNSEEN = (
    0xAD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0x200B, 0x200E),
    *range(0x2060, 0x2066), *range(0x206A, 0x2070), 0x3164, 0xFEFF, 0xFFA0, *range(0xFFF0, 0xFFFC),
    *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE0080),
)  # fmt: skip
# Halves of surrogate pairs, which UTF-8 doesn't have. The halves for bytes of file names that
# aren't UTF-8 stay, except for bytes that a terminal without UTF-8 would obey.
_HALVES = (*range(0xD800, 0xDC80), *range(0xDD00, 0xE000))


def _escape(code: int) -> str:
    if code < 0x100:
        return {0x0A: "\\n", 0x0D: "\\r"}.get(code, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_HALF_CODES = {code: _escape(code) for code in _HALVES}
_CONTROL_BYTES = {0xDC00 + code: _escape(code) for code in range(0x80, 0xA0)}
_CONTROL = (code for code in (*range(0x20), *range(0x7F, 0xA0)) if code != ord("\t"))
_CODES = (
    _HALF_CODES
    | _CONTROL_BYTES
    | {code: _escape(code) for code in (*_CONTROL, *_TURNING, *_UNSEEN)}
)
_UNSAFE_JSON = re.compile(f"[\x7f-\x9f{''.join(map(chr, _TURNING + _HALVES))}]")
_UNSAFE_JSON_BYTES = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
)
"""The characters of _UNSAFE_JSON as bytes of UTF-8, which has no halves of surrogate pairs."""


def one_line(text: str) -> str:
    """The text with escapes for all characters that a terminal obeys, that start another line, or
    that are invisible. A tab stays."""
    return text.translate(_CODES)


def one_line_bytes(raw: bytes) -> bytes:
    """A line of another program's output, which may be invalid UTF-8, with the escapes of
    `one_line`."""
    return one_line(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def to_stderr(text: str) -> None:
    """Print one line on stderr."""
    sys.stderr.write(one_line(text) + "\n")


def to_stdout(text: str) -> None:
    """Print one line on stdout."""
    sys.stdout.write(one_line(text) + "\n")


def encodable(text: str) -> str:
    """The text with escapes for halves of surrogate pairs, which UTF-8 doesn't have."""
    return text.translate(_HALF_CODES)


def safe_json(text: str) -> str:
    """The same JSON with escapes for characters that a terminal would obey."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNSAFE_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def safe_json_bytes(raw: bytes) -> bytes:
    """The same JSON as bytes of UTF-8, with escapes for characters that a terminal would obey."""
    if raw.isascii() and b"\x7f" not in raw:
        return raw
    return _UNSAFE_JSON_BYTES.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), raw)
