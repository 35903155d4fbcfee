"""Command lines that a person may paste into a shell. No other module quotes words or builds such a
line, so that no name of a stranger's file can run.

`line` quotes each word. Only `Shell`, which is always a constant of the code, enters a line as it
is.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

from replica.errors import DataError

_ID = re.compile(r"[A-Za-z0-9._-]+")
_HOST = re.compile(r"[A-Za-z0-9:][A-Za-z0-9.:_-]*")
_UNSAFE_IN_NOTE = re.compile(r"[^A-Za-z0-9 .,:_-]")
_FROM_BYTES = range(0xDCA0, 0xDD00)
"""Stand for bytes of a file name that are no UTF-8. Those below, which some terminals obey, are
escaped."""
_CONTROL_BYTES = range(0xDC80, 0xDCA0)


class Shell(str):
    """Text that a shell takes as it stands: a constant of the code, or what this module made."""

    __slots__ = ()


def line(*words: str) -> Shell:
    """A command line. Each word is quoted where a shell would take it for more than itself."""
    return Shell(" ".join(map(word, words)))


def word(*parts: str) -> Shell:
    """One word of parts, of which each is quoted, but not those that are Shell."""
    return Shell("".join(part if isinstance(part, Shell) else _quoted(part) for part in parts))


def paths(names: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The paths as words for `line`. None of them begins with a -, by which a command would take it
    for an option."""
    return [path(name) for name in names]


def path(name: str | os.PathLike[str]) -> str:
    """A path as a word for `line`, as `paths`."""
    text = os.fspath(name)
    return f"./{text}" if text.startswith("-") else text


def noted(command: Shell, note: str) -> Shell:
    """The command line with a comment behind it. A shell without comments, such as zsh at its
    prompt, takes the words of the comment for arguments. So signs that a shell obeys are ? in it.
    """
    return Shell(f"{command}  # {_UNSAFE_IN_NOTE.sub('?', note)}")


def identifier(text: str, place: str) -> str:
    """The text, which is an id as Kafka makes them. place: where it stands, for the error. Raises
    DataError for a text with other characters than letters, digits, dots, - and _."""
    if _ID.fullmatch(text) is None:
        raise DataError(
            f"{place}: {text!r} has characters that no id of Kafka has, and commands with it could "
            "run something else: correct it"
        )
    return text


def is_host(text: str) -> bool:
    """Whether a text can be the name or the address of a host."""
    return _HOST.fullmatch(text) is not None


def _quoted(text: str) -> str:
    if all(char.isprintable() or ord(char) in _FROM_BYTES for char in text):
        return shlex.quote(text)
    return f"$'{''.join(map(_in_dollar_quotes, text))}'"


def _in_dollar_quotes(char: str) -> str:
    """A character between $' and ', where bash, ksh and zsh know escapes. So a line stays a line,
    and a terminal that shows it obeys nothing in it."""
    if char in "\\'":
        return f"\\{char}"
    if char.isprintable() or ord(char) in _FROM_BYTES:
        return char
    code = ord(char)
    if code in _CONTROL_BYTES:
        code -= 0xDC00
        return f"\\x{code:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\U{code:08x}"
