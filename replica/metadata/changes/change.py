"""One typed change."""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """change: a name of the catalogue. old, new: JSON; None where the entity did not, or does not,
    exist."""

    change: str
    old: str | None
    new: str | None
