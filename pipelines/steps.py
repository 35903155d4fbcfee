"""The progress of a build: which share of its steps is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def nobody_asks(_: float) -> None:
    """Ignores the share that is done, for a caller that doesn't need it."""


@dataclass
class StepProgress:
    """count: of all steps. share: is told the share of them that is done, from 0 to 1."""

    count: int
    share: Callable[[float], None]
    behind: int = 0

    def done(self, steps: int = 1) -> None:
        """Counts `steps` more steps as done."""
        self.behind = min(self.count, self.behind + steps)
        self.share(self.behind / self.count)
