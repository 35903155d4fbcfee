"""The values of a command's options and arguments: files and folders, seeds, and names that are
compared with known names."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from pipelines.object_store import is_uri
from replica.errors import UsageError


def check_there(paths: Iterable[str]) -> None:
    """Raises UsageError for a path on this machine that doesn't exist."""
    for path in paths:
        if not is_uri(path) and not os.path.lexists(path):
            raise UsageError(f"{path}: no such file or directory")


def bytes_in(option: str, path: str, most: int) -> bytes:
    """The content of the file that an option names. Raises UsageError, which names the option, for
    a file that can't be read or has more than `most` bytes."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror or error}") from error
    if len(content) > most:
        raise UsageError(f"{option} {path}: more than {most} bytes")
    return content


def text_in(option: str, path: str, most: int) -> str:
    """The content of the file that an option names, decoded from UTF-8. Raises UsageError as
    bytes_in does, and for a file that is not UTF-8."""
    try:
        return bytes_in(option, path, most).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{option} {path}: byte {error.start} is not UTF-8") from error


MAX_REHEARSED = 10_000
"""The most runs of a rehearsal. A run of a small quorum takes some 50 ms."""


def seeds_in(text: str, most: int | None = None) -> range:
    """The seeds from A (inclusive) to B (exclusive) in the text A:B. Raises UsageError where there
    are none, or more than `most`."""
    found = re.fullmatch(r"(\d{1,18}):(\d{1,18})", text, re.ASCII)
    if found is None or int(found[1]) >= int(found[2]):
        raise UsageError(f"--seeds {text}: expected A:B with A below B, such as 0:200")
    seeds = range(int(found[1]), int(found[2]))
    if most is not None and len(seeds) > most:
        raise UsageError(f"--seeds {text}: {len(seeds)} runs: expected {most} at most")
    return seeds


_T = TypeVar("_T")


def value_named(name: str, known: Mapping[str, _T], what: str, otherwise: str) -> _T:
    """The value in `known` of the name that the user typed in lower or upper case.

    Raises UsageError for an unknown name; its message suggests similar names. known: values by
    their names in lower case. what: the message's word for such a value. otherwise: the message's
    advice where no name is similar.
    """
    found = known.get(name.strip().lower())
    if found is None:
        close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else otherwise
        raise UsageError(f"{name}: no {what} of that name; {hint}")
    return found


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Whether the name matches one of the patterns, which have wildcards * and ?. Without patterns
    every name matches."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def check_patterns(option: str, patterns: Sequence[str], known: Collection[str]) -> None:
    """Raises UsageError where none of the known names matches a pattern of the option."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UsageError(f"{option} {pattern}: expected one of {', '.join(known)}")
