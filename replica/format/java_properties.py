"""Reads and writes Java's properties files, as java.util.Properties does. They are Latin-1, with
escapes for all other characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from replica.errors import CorruptDataError

ENCODING = "latin-1"

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {char: f"\\{name}" for name, char in _ESCAPES.items()}
_BLANKS = " \t\f"
_NATURAL_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_UNICODE_ESCAPE = re.compile(r"[0-9A-Fa-f]{4}")


class PropertyLine(NamedTuple):
    """A line of the file, or several lines that backslashes join.

    position: the byte at which the line begins.
    number: the number of its first line, from 1 on.
    key, value: the key and the value, without escapes.
    is_separated: whether = or : is between key and value; Java also accepts a blank or nothing.
    """

    position: int
    number: int
    key: str
    value: str
    is_separated: bool


def lines_in(text: str, halves: str = "strict") -> Iterator[PropertyLine]:
    """The lines, without blank lines and comments. If a key comes twice, its last value counts.
    halves: Python's error handler for an escape that is half of a surrogate pair, which Java keeps.

    Raises CorruptDataError with the byte of a line whose escapes can't be read.
    """
    for position, number, line in _logical_lines(text):
        yield _property_line(line, position, number, halves)


def properties_in(text: str) -> Iterator[tuple[int, str, str]]:
    """(byte position of the line, key, value) of each line. Raises CorruptDataError as lines_in
    does."""
    return ((line.position, line.key, line.value) for line in lines_in(text))


def escape(value: str) -> str:
    """A value with Java's escapes."""
    escaped = "".join(_escape_char(char) for char in value)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _escape_char(char: str) -> str:
    if char in "\\=:#!":
        return f"\\{char}"
    if char in _ESCAPED:
        return _ESCAPED[char]
    if " " <= char <= "~":
        return char
    units = char.encode("utf-16-be").hex().upper()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _logical_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """(byte position, number, line), without blank lines and comments. A line that ends with a
    backslash is joined with the next line."""
    joined, start, first = "", 0, 1
    for number, match in enumerate(_NATURAL_LINE.finditer(text), start=1):
        line = match[1].lstrip(_BLANKS)
        if not joined:
            start, first = match.start(), number
            if not line or line[0] in "#!":
                continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2 and match.end() < len(text):
            joined += line[:-1]
            continue
        yield start, first, joined + line
        joined = ""


def _property_line(line: str, position: int, number: int, halves: str) -> PropertyLine:
    """A line split at the first unescaped '=', ':' or blank, as java.util.Properties does."""
    index = 0
    while index < len(line) and line[index] not in f"=:{_BLANKS}":
        index += 2 if line[index] == "\\" else 1
    rest = line[index:].lstrip(_BLANKS)
    is_separated = rest[:1] in ("=", ":")
    if is_separated:
        rest = rest[1:].lstrip(_BLANKS)
    key = _unescape(line[:index], position, halves)
    value = _unescape(rest, position, halves)
    return PropertyLine(position, number, key, value, is_separated)


def _unescape(text: str, position: int, halves: str) -> str:
    out = []
    index = 0
    while index < len(text):
        char = text[index]
        if char != "\\":
            out.append(char)
            index += 1
            continue
        escaped = text[index + 1 : index + 2]
        if escaped == "u":
            digits = text[index + 2 : index + 6]
            if _UNICODE_ESCAPE.fullmatch(digits) is None:
                raise CorruptDataError(f"bad escape \\u{digits}: expected 4 hex digits", position)
            out.append(chr(int(digits, 16)))
            index += 6
            continue
        out.append(_ESCAPES.get(escaped, escaped))
        index += 2
    try:
        # Java's characters are UTF-16 units: two escapes may be one character
        return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", halves)
    except UnicodeDecodeError as error:
        raise CorruptDataError("an escape is half of a surrogate pair", position) from error
