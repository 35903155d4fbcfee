"""A name that the user chose among known ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TypeVar

from replica.errors import UsageError

_T = TypeVar("_T")


def named(name: str, known: Mapping[str, _T], what: str, otherwise: str) -> _T:
    """The thing of that name, in any case. Raises UsageError for another name, with names like it.

    what: the word for such a thing. otherwise: the hint where no name is like it.
    """
    found = known.get(name.strip().lower())
    if found is None:
        close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else otherwise
        raise UsageError(f"{name}: no {what} of that name; {hint}")
    return found


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns, with * and ?, fits the name. Without a pattern every name
    fits."""
    patterns = tuple(patterns)
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def check_patterns(option: str, patterns: Iterable[str], known: Iterable[str]) -> None:
    """Raises UsageError for a pattern that fits none of the known names."""
    known = tuple(known)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UsageError(f"{option} {pattern}: expected one of {', '.join(known)}")
