"""Names and patterns of names that a user typed, compared with the names that exist."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TypeVar

from replica.errors import UsageError

_T = TypeVar("_T")


def named(name: str, known: Mapping[str, _T], what: str, otherwise: str) -> _T:
    """The value in `known` of the name that the user typed in lower or upper case.

    Raises UsageError for an unknown name; its message suggests similar names. known: values by
    their names in lower case. what: the message's word for such a value. otherwise: what the
    message says where no name is similar.
    """
    found = known.get(name.strip().lower())
    if found is None:
        close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else otherwise
        raise UsageError(f"{name}: no {what} of that name; {hint}")
    return found


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Whether the name matches one of the patterns, which have wildcards * and ?. Without patterns
    every name is right."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def check_patterns(option: str, patterns: Sequence[str], known: Collection[str]) -> None:
    """Raises UsageError where none of the known names matches a pattern of the option."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UsageError(f"{option} {pattern}: expected one of {', '.join(known)}")
