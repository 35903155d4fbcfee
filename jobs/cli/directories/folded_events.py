"""Folds routine events of an incident, such as those of a rolling restart, into one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from jobs.cli.clock import ZonedClock
from replica.doctor.timeline.causes import ElectionCause
from replica.doctor.timeline.decisive import FEATURES, FENCED, REGISTERED, UNFENCED
from replica.doctor.timeline.event import Came, Event
from replica.doctor.timeline.events import ELECTION
from replica.doctor.timeline.leaders_lost import LEFT
from replica.doctor.timeline.reassignments import REPLICAS
from replica.words import duration_text, listed, named

_CONTROLLER = REGISTERED[0]
_KINDS = {"acl": "ACL", "scram": "SCRAM"}
_RESTART = "restart"
_MAX_FENCED = 3
_FEW_ELECTIONS, _NEAR_MS = 2, 60_000
"""More elections than these, each at most so many ms after the one before, share a line."""
_MAX_TIMES = 5
"""A line about at most this many restarts says when each of them was."""


def folded(events: Sequence[Event]) -> Iterator[list[Event]]:
    """The events in their order, as lists. A list has the events of one line: restarts without
    another event between them, or the changes of features or the fencings of brokers at one
    time. The line of the last of many elections in a short time is about all of them, and its list
    begins with the last one."""
    early = _early_elections(events)
    earlier = {id(last): found for last, found in early}
    of_others = {id(one) for _, found in early for one in found}
    events = [one for one in events if id(one) not in of_others]
    restarts = _restarts(events)

    def kind(numbered: tuple[int, Event]) -> object:
        number, event = numbered
        if number in restarts:
            return _RESTART
        what = "features" if event.event in FEATURES else event.event
        return (what, event.at, event.nodes) if what in ("features", FENCED) else number

    for key, numbered in groupby(enumerate(events), kind):
        together = [event for _, event in numbered]
        if key != _RESTART or _is_whole(together):
            yield [*together, *earlier.get(id(together[0]), ())]
        else:
            yield from ([event] for event in together)


def _early_elections(events: Sequence[Event]) -> list[tuple[Event, list[Event]]]:
    """(the last election, the elections before it) of each row of many elections in a short
    time."""
    rows: list[list[Event]] = []
    for event in events:
        if event.event != ELECTION or event.cause == ElectionCause.FIRST.value:
            continue
        if rows and 0 <= event.at - rows[-1][-1].at <= _NEAR_MS:
            rows[-1].append(event)
        else:
            rows.append([event])
    return [(row[-1], row[:-1]) for row in rows if len(row) > _FEW_ELECTIONS]


def _is_whole(together: Sequence[Event]) -> bool:
    """Whether each broker that stopped in one of these events came back in a later one, and
    each that came back had stopped. Another event may lie between the two."""
    stopped: set[str] = set()
    for event in together if len(together) > 1 else ():
        if event.event == FENCED:
            stopped.add(event.name)
        elif event.event == UNFENCED:
            if event.name not in stopped:
                return False
            stopped.remove(event.name)
    return not stopped


def _restarts(events: Sequence[Event]) -> set[int]:
    """The indexes of the events of restarts: of controllers that registered again, and of brokers
    that had asked for their shutdown and came back. Events of a broker that fell silent are not
    among them."""
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
    if all(one.event == FENCED for one in events):
        told = [f"{one.name} {one.detail}" for one in events[:_MAX_FENCED]]
        more = f"; and {len(events) - _MAX_FENCED} more" * (len(events) > _MAX_FENCED)
        return f"brokers fenced: {'; '.join(told)}{more}"
    if first.event == ELECTION:
        span = duration_text(first.at - events[1].at)
        return f"elections: {len(events)} in {span}: {first.name} {first.detail}"
    began = [one for one in events if one.event != UNFENCED]
    if len(began) <= _MAX_TIMES and clock.day(first.at) == clock.day(last.at):
        return f"restarted: {listed([_restart_text(one, events, clock) for one in began])}"
    times = Counter(one.name for one in events if one.event != FENCED)
    names = [name if count == 1 else f"{name} ({count} times)" for name, count in times.items()]
    return f"restarted: {listed(names)}, between {clock.words(first.at)} and {clock.words(last.at)}"


def short_text_of(events: Sequence[Event]) -> str:
    """What a line with little room says about events that were folded together; "" where the
    beginning of `text_of` will do."""
    if len(events) == 1 or any(one.event != FENCED for one in events):
        return ""
    names = [one.name.removeprefix("broker ") for one in events]
    asked = [one.came is Came.ASKED for one in events]
    how = "" if any(asked) else ", without a shutdown"
    how = ", as asked for" if all(asked) else how
    left = [
        f"; {one.name} {one.detail.partition('; ')[0]}"
        for one in events
        if one.detail.startswith(LEFT)
    ]
    return f"fenced: {named('broker', names, limit=_MAX_FENCED)}{how}{''.join(left)}"


def line_of(event: Event) -> str:
    """An event in one line, such as `ACL deleted: User:ann from * allowed Read on topic orders`."""
    kind, _, what = event.event.partition("_")
    words = f"{_KINDS.get(kind, kind)} {what.replace('_', ' ')}".rstrip()
    return f"{words}: {event.name} {event.detail}".rstrip()


def _restart_text(began: Event, events: Sequence[Event], clock: ZonedClock) -> str:
    """The name and the time of a restart. began: the registration of a controller, or the fencing
    of a broker, whose return is among `events`."""
    text = f"{began.name} at {_second(began.at, clock)}"
    if began.event != FENCED:
        return text
    back = next(
        one.at
        for one in events
        if (one.event, one.name) == (UNFENCED, began.name) and one.offset > began.offset
    )
    return f"{text} (as asked for, back at {_second(back, clock)})"


def _second(at: int, clock: ZonedClock) -> str:
    return clock.time(at).partition(".")[0]
