"""How far a build is: which share of its steps is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def nobody_asks(_: float) -> None:
    """Takes the share that is done, for a caller whom it doesn't concern."""


@dataclass
class Steps:
    """count: of all steps. share: takes the share of them that is done, from 0 to 1."""

    count: int
    share: Callable[[float], None]
    behind: int = 0

    def done(self, steps: int = 1) -> None:
        """So many more steps are done."""
        self.behind = min(self.count, self.behind + steps)
        self.share(self.behind / self.count)
