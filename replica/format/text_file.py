"""Decoding of a log directory's small text files: UTF-8, and decimal numbers."""

from __future__ import annotations

from replica.errors import CorruptDataError


def text_of(data: bytes) -> str:
    """The file's text. Raises CorruptDataError with the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorruptDataError("not UTF-8 text", error.start) from error


def integer(text: str, position: int, what: str, highest: int) -> int:
    """A decimal integer of ASCII digits, from 0 to `highest` (inclusive).

    position, what: the byte and the name for the error. Raises CorruptDataError for any other text.
    """
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        raise CorruptDataError(f"{what} {text[:40]!r} is not a number", position)
    value = int(text)
    if not 0 <= value <= highest:
        raise CorruptDataError(f"{what} {value} is out of range", position)
    return value
