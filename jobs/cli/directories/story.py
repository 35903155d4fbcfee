"""The story of an incident in a few short lines, for a person who reads only the first ten lines of
a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobs.cli.clock import ZonedClock
from jobs.cli.directories.incident import IncidentEvent, Weight
from replica.doctor.timeline.asked_for import HOUR_MS
from replica.terminal_text import one_line

MAX_EVENTS = 5
WIDTH = 160
"""The most characters of a line."""
_CLAUSE_ENDS = ("; ", ": ", ", ")


def decisive_few(events: Sequence[IncidentEvent]) -> list[IncidentEvent]:
    """At most MAX_EVENTS of the events, in their order, chosen by few_of. Changes that somebody
    asked for are light, and harmless ones are told only where there is nothing else."""
    told = [one for one in events if not one.is_harmless_change] or [*events]
    weights = [(one.at, Weight.LIGHT if one.change else one.weight) for one in told]
    return [told[number] for number in few_of(weights, MAX_EVENTS)]


def few_of(events: Sequence[tuple[int, int]], most: int) -> list[int]:
    """The indexes, ascending, of at most `most` events: those of the last hour come before older
    ones, then graver ones before others, then newer ones. events: their times and weights; the
    graver an event, the smaller its weight."""
    late = max((at for at, _ in events), default=0) - HOUR_MS
    ranked = sorted((at < late, weight, -number) for number, (at, weight) in enumerate(events))
    return sorted(-number for _, _, number in ranked[:most])


def story_lines(events: Sequence[IncidentEvent], clock: ZonedClock) -> Iterator[str]:
    """A line for each event, which has no more of its text than a line has room for."""
    for one in events:
        yield f"{_time(one, clock)}{in_short(one, clock)}"


def in_short(event: IncidentEvent, clock: ZonedClock) -> str:
    """An event, as a line has room for it. In a shortened text, too, stands which history has the
    event."""
    room = WIDTH - len(_time(event, clock)) - len(event.whose)
    return cut(one_line(event.short or event.text.removesuffix(event.whose)), room) + event.whose


def _time(event: IncidentEvent, clock: ZonedClock) -> str:
    return f"  {clock.words(event.at)}  "


def cut(text: str, room: int) -> str:
    """At most `room` characters of a text. A long one ends behind a clause or a word, with three
    dots."""
    if len(text) <= room:
        return text
    end = max(text.rfind(mark, room // 2, room - 1) for mark in _CLAUSE_ENDS)
    if end < 0:
        end = text.rfind(" ", 1, room - 2)
    return f"{text[: end if end > 0 else room - 3]}..."
