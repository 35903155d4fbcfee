"""Interleaved rounds: the contenders are measured in turn, so that noise affects all alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Measure = Callable[[], float]
"""Does the work once and returns its seconds."""


@dataclass(frozen=True)
class Spread:
    """The minimum, median and maximum of the rounds."""

    least: float
    median: float
    most: float

    @staticmethod
    def of(values: list[float]) -> Spread:
        return Spread(min(values), statistics.median(values), max(values))


def measure(
    contenders: Mapping[str, Measure], rounds: int, tell: Callable[[str], object]
) -> dict[str, list[float]]:
    """The seconds of each contender in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(1, rounds + 1):
        for name, work in contenders.items():
            seconds[name].append(work())
            tell(f"round {number} of {rounds}: {name}: {seconds[name][-1]:.3f} s")
    return seconds


def ratios(yardstick: list[float], contender: list[float]) -> Spread:
    """How many times faster the contender was, round by round."""
    return Spread.of([slow / fast for slow, fast in zip(yardstick, contender, strict=True)])
