"""Makes command lines that a person may paste into a shell. Only this module quotes words and
builds command lines, so that no name of a stranger's file can run as a command.

`line` quotes each word. Only `Shell`, which is always a constant of the code, enters a line
unquoted.
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
"""The surrogates for bytes of a file name that aren't UTF-8. Lower surrogates, whose bytes some
terminals obey, are escaped."""
_CONTROL_BYTES = range(0xDC80, 0xDCA0)


class Shell(str):
    """Text that enters a command line unquoted: a constant of the code, or a result of this
    module."""

    __slots__ = ()


def line(*words: str) -> Shell:
    """A command line. Each word is quoted if a shell would interpret it."""
    return Shell(" ".join(map(word, words)))


def word(*parts: str) -> Shell:
    """One word of several parts. Each part is quoted, unless it is Shell."""
    return Shell("".join(part if isinstance(part, Shell) else _quoted(part) for part in parts))


def paths(names: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The paths as words for `line`. The words never begin with -, so that no command treats them
    as options."""
    return [path(name) for name in names]


def path(name: str | os.PathLike[str]) -> str:
    """A path as a word for `line`. The word never begins with -, so that no command treats it as an
    option."""
    text = os.fspath(name)
    return f"./{text}" if text.startswith("-") else text


def noted(command: Shell, note: str) -> Shell:
    """The command line with a comment behind it. A shell without comments, such as zsh at its
    prompt, treats the words of the comment as arguments. So each special character of the shell is
    replaced by ? in the comment."""
    return Shell(f"{command}  # {_UNSAFE_IN_NOTE.sub('?', note)}")


def identifier(text: str, place: str) -> str:
    """The text, if it is an id of Kafka's form. place: the place of the text, for the error. Raises
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
    """A character for a text between $' and ', in which bash, ksh and zsh know escapes. So the text
    stays in one line, and has no control characters for a terminal."""
    if char in "\\'":
        return f"\\{char}"
    if char.isprintable() or ord(char) in _FROM_BYTES:
        return char
    code = ord(char)
    if code in _CONTROL_BYTES:
        code -= 0xDC00
        return f"\\x{code:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\U{code:08x}"
