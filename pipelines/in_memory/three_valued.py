"""SQL's three-valued logic. None is a condition of which it is unknown whether it holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def equal(one: Any, other: Any) -> bool | None:
    """None where one of the two is None."""
    return None if one is None or other is None else bool(one == other)


def both(*conditions: bool | None) -> bool | None:
    """SQL's AND: False where any condition is False, else None where any is None."""
    return every(conditions)


def every(conditions: Iterable[bool | None]) -> bool | None:
    """False where any condition is False, else None where any is None. True for no conditions."""
    found = set(conditions)
    return False if False in found else None if None in found else True


def some(conditions: Iterable[bool | None]) -> bool | None:
    """True where any condition is True, else None where any is None. False for no conditions."""
    found = set(conditions)
    return True if True in found else None if None in found else False
