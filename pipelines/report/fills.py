"""The fill of each leader's blocks. On one page equal fills are the same leader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.report.words import listed

HUES = 6
"""How many leaders have a fill of their own in the style sheet. Every block also has a text."""
OTHER, UNKNOWN, MANY = "other", "unknown", "many"
"""Fills of no leader's own: of leaders beyond the last hue, of an epoch whose leader no replica
tells, and of several epochs that are drawn as one block."""


@dataclass(frozen=True)
class Key:
    """One entry of a drawing's legend."""

    fill: str
    text: str


class Fills:
    """The fills of one cluster: each leader gets its own, by node id, while there are any."""

    def __init__(self, leaders: Iterable[int | None]) -> None:
        """leaders: of all epochs that are drawn; None stands for an epoch whose leader is
        unknown."""
        found = set(leaders)
        self._has_unknown = None in found
        self._leaders = sorted(leader for leader in found if leader is not None)

    def of(self, leader: int | None) -> str:
        """The class in the style sheet. leader: one of those given to __init__."""
        if leader is None:
            return UNKNOWN
        place = self._leaders.index(leader)
        return f"hue{place}" if place < HUES else OTHER

    def key(self) -> tuple[Key, ...]:
        """The meaning of each fill, in the order of node ids."""
        own = [Key(self.of(leader), f"leader {leader}") for leader in self._leaders[:HUES]]
        others = [str(leader) for leader in self._leaders[HUES:]]
        if others:
            noun = "leader" if len(others) == 1 else "leaders"
            own.append(Key(OTHER, f"{noun} {listed(others, limit=8)}"))
        if self._has_unknown:
            own.append(Key(UNKNOWN, "leader unknown"))
        return tuple(own)
