"""Folds routine events of an incident, such as those of a rolling restart, into one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from jobs.cli.clock import ZonedClock
from replica.doctor.timeline.decisive import FEATURES, FENCED, REGISTERED, UNFENCED
from replica.doctor.timeline.event import Came, Event
from replica.doctor.timeline.reassignments import REPLICAS
from replica.words import listed

_CONTROLLER = REGISTERED[0]
_KINDS = {"acl": "ACL", "scram": "SCRAM"}
_MAX_TIMES = 5
"""A line about at most this many restarts says when each of them was."""


def folded(events: Sequence[Event]) -> Iterator[list[Event]]:
    """The events in their order, as lists. A list has the events that one line tells: restarts
    without another event between them, or the changes of features at one time."""
    restarts = _restarts(events)

    def kind(numbered: tuple[int, Event]) -> object:
        number, event = numbered
        if number in restarts:
            return "restart"
        return ("features", event.at) if event.event in FEATURES else number

    for _, together in groupby(enumerate(events), kind):
        yield [event for _, event in together]


def _restarts(events: Sequence[Event]) -> set[int]:
    """The indexes of the events of restarts: of controllers that registered again, and of brokers
    that had asked for their shutdown and came back. A broker that fell silent is none of these."""
    found: set[int] = set()
    stopped: dict[str, int] = {}
    for number, event in enumerate(events):
        if event.event == _CONTROLLER:
            found.add(number)
        elif event.event == FENCED:
            stopped.pop(event.name, None)
            if event.came is Came.ASKED:
                stopped[event.name] = number
        elif event.event == UNFENCED and event.name in stopped:
            number_of_stop = stopped.pop(event.name)
            if event.came is Came.RESTARTED:
                found |= {number_of_stop, number}
    return found


def text_of(events: Sequence[Event], clock: ZonedClock) -> str:
    """The line about events that were folded together."""
    first, last = events[0], events[-1]
    if first.event in FEATURES:
        changed = [f"{one.name} {one.detail}".rstrip() for one in events]
        return f"features changed: {listed(changed)}"
    if first.event == REPLICAS:
        return f"replicas changed: {first.name}: {first.detail}"
    if len(events) == 1:
        return line_of(first)
    backs = {id(stop): _back(stop, events) for stop in events if stop.event == FENCED}
    told = [one for one in events if all(one is not back for back in backs.values())]
    if len(told) <= _MAX_TIMES and clock.day(first.at) == clock.day(last.at):
        texts = [_restart_text(one, backs.get(id(one)), clock) for one in told]
        return f"restarted: {listed(texts)}"
    times = Counter(one.name for one in told)
    names = [name if count == 1 else f"{name} ({count} times)" for name, count in times.items()]
    return f"restarted: {listed(names)}, between {clock.words(first.at)} and {clock.words(last.at)}"


def line_of(event: Event) -> str:
    """An event in one line, such as `ACL deleted: User:ann from * allowed Read on topic orders`."""
    kind, _, what = event.event.partition("_")
    words = f"{_KINDS.get(kind, kind)} {what.replace('_', ' ')}".rstrip()
    return f"{words}: {event.name} {event.detail}".rstrip()


def _back(stop: Event, events: Sequence[Event]) -> Event | None:
    """The event by which a broker came back from this stop; None where it isn't among `events`,
    because another event, such as an election, stands between the two."""
    return next(
        (
            one
            for one in events
            if (one.event, one.name) == (UNFENCED, stop.name) and one.offset > stop.offset
        ),
        None,
    )


def _restart_text(one: Event, back: Event | None, clock: ZonedClock) -> str:
    """When a controller registered again, or a broker stopped or came back. back: the event by
    which the broker came back; None where another line has it."""
    if one.event == UNFENCED:
        return f"{one.name}, which was back at {_second(one.at, clock)}"
    text = f"{one.name} at {_second(one.at, clock)}"
    if one.event != FENCED:
        return text
    until = "" if back is None else f", back at {_second(back.at, clock)}"
    return f"{text} (as asked for{until})"


def _second(at: int, clock: ZonedClock) -> str:
    return clock.time(at).partition(".")[0]
