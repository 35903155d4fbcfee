"""The story of an incident in a few short lines, for a person who reads only the first ten lines of
a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobs.cli.clock import ZonedClock
from jobs.cli.directories.incident import IncidentEvent, Weight
from replica.doctor.timeline.asked_for import HOUR_MS
from replica.terminal_text import one_line

MAX_EVENTS = 5
_WIDTH = 160
"""The most characters of a line."""
_CLAUSE_ENDS = ("; ", ": ", ", ")


def decisive_few(events: Sequence[IncidentEvent]) -> list[IncidentEvent]:
    """At most MAX_EVENTS of the events, in their order. Those of the last hour come before older
    ones, then graver ones before others, then newer ones. Changes that somebody asked for come
    last, and harmless ones only where there is nothing else."""
    told = [one for one in events if not one.is_harmless_change] or [*events]
    late = max((one.at for one in told), default=0) - HOUR_MS

    def rank(number: int) -> tuple[bool, Weight, int]:
        one = told[number]
        return one.at < late, Weight.LIGHT if one.change else one.weight, -number

    ranked = sorted(range(len(told)), key=rank)
    return [told[number] for number in sorted(ranked[:MAX_EVENTS])]


def story_lines(events: Sequence[IncidentEvent], clock: ZonedClock) -> Iterator[str]:
    """A line for each event, which has no more of its text than a line has room for."""
    for one in events:
        yield f"{_time(one, clock)}{in_short(one, clock)}"


def in_short(event: IncidentEvent, clock: ZonedClock) -> str:
    """An event, as a line has room for it. In a shortened text, too, stands which history has the
    event."""
    room = _WIDTH - len(_time(event, clock)) - len(event.whose)
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
