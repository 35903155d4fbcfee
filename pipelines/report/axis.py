"""Axes of drawings: round numbers and round times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from pipelines.html_text import Html, joined
from pipelines.report.svg import Scale, line, text
from pipelines.report.words import round_seconds

_TICKS = 6
HEIGHT = 22
"""The height of an axis in pixels."""


def round_step(extent: float, ticks: int = _TICKS) -> int:
    """The smallest number that is 1, 2 or 5 times a power of ten and divides the extent into at
    most `ticks` steps; at least 1."""
    wanted = max(extent / ticks, 1)
    power = 10 ** math.floor(math.log10(wanted))
    return int(next(times * power for times in (1, 2, 5, 10) if times * power >= wanted))


def offset_axis(scale: Scale, y: float) -> Html:
    """An axis of offsets below a drawing whose lanes end at y pixels."""
    return _axis(scale, y, round_step(scale.high - scale.low), str)


def time_axis(scale: Scale, y: float) -> Html:
    """An axis of times in UTC below a drawing. The scale is in seconds since 1970."""
    step = round_seconds((scale.high - scale.low) / _TICKS)
    shape = "%H:%M:%S" if step < 60 else "%H:%M" if step < 86_400 else "%Y-%m-%d"
    return _axis(scale, y, step, lambda value: time_label(value, shape))


def time_label(seconds: float, shape: str) -> str:
    """The time in UTC; the number itself where the calendar doesn't have that time."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(shape)
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.0f} s"


def _axis(scale: Scale, y: float, step: int, label: Callable[[int], str]) -> Html:
    first = math.ceil(scale.low / step) * step
    values = range(first, math.floor(scale.high) + 1, step)
    shown = [(scale.x(value), label(value)) for value in values]
    return joined([line(0, y, 100, y, "axis"), *ticks(y, shown, edge=4)])


def ticks(y: float, shown: Iterable[tuple[float, str]], *, edge: float) -> Iterator[Html]:
    """The ticks of an axis at y pixels.

    shown: for each tick its place, in percent of the width, and its text. edge: a distance from a
    side, in percent of the width. The text of a tick that is nearer to a side ends at the tick on
    that side; all other texts are centred at their ticks.
    """
    for place, (x, label) in enumerate(shown):
        anchor = "" if x < edge else "end" if x > 100 - edge else "middle"
        # a phone has room for every second text
        class_ = "tick broad" if place % 2 else "tick"
        yield line(x, y, x, y + 4, "axis")
        yield text(x, y + 17, label, class_=class_, anchor=anchor)
