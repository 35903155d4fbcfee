"""Known contradictions that are not mended yet: for each broken rule, a cluster that shows it, and
what is wrong. After a mend, the entry must be removed: its test then succeeds, and so fails
(strict)."""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """A known contradiction. cluster: a scenario's name, or seed-N, seed-N-left or seed-N-old.
    in_lake: whether only a lake shows it."""

    cluster: str
    reason: str
    in_lake: bool = False


KNOWN: dict[str, Known] = {}
