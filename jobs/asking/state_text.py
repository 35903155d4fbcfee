"""The lines of `kraftlake state --diff` for people."""

from __future__ import annotations

import json
from typing import Any

from jobs.output import json_text
from replica.metadata.changes.telling import NamedChange

_WIDTH = 28


def line(told: NamedChange) -> str:
    """The line of a change: its kind, the entity, the old and the new value.

    For an entity that stays, the line has the fields that differ. For an entity that appears or
    disappears it has its only value, if it has one; --json has all values.
    """
    found = _values(*(None if t is None else json.loads(t) for t in told.change[1:]))
    return f"{told.change.change:<{_WIDTH}}  {told.name}{'  ' if found else ''}{found}"


def _values(old: Any, new: Any) -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        names = [name for name in new if old.get(name) != new[name]]
        return ", ".join(
            f"{name} {json_text(old.get(name))} -> {json_text(new[name])}" for name in names
        )
    if isinstance(old, dict) or isinstance(new, dict):
        return ""
    if old is None:
        return json_text(new)
    return f"was {json_text(old)}" if new is None else f"{json_text(old)} -> {json_text(new)}"
