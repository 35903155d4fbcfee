"""`kraftlake timeline`: what happened to a cluster by clock time, straight from directories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from jobs.clock import UTC_CLOCK, ZonedClock
from jobs.directories.looks import branches_in
from jobs.output import ProgressLine, coloured, one_line, write_json, write_line, write_wrapped
from replica.errors import UsageError
from replica.timeline.branch import Branch
from replica.timeline.elections import ElectionCause
from replica.timeline.events import DIVERGENCE, ELECTION, EVENTS, TRUNCATION, Event, timeline

_WIDTH = max(map(len, EVENTS))
_COLOURS = {ELECTION: "yellow", DIVERGENCE: "red", TRUNCATION: "red", "broker_fenced": "yellow"}


@dataclass(frozen=True, slots=True)
class TimelineOptions:
    """The options of `timeline`. form: text, json, csv or plain csv. events: patterns, none for all
    events. since, until: the times from (inclusive) and to (exclusive). order: see find_inputs."""

    form: str = "text"
    clock: ZonedClock = UTC_CLOCK
    events: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    cluster: str | None = None
    order: tuple[str, ...] = ()


def run(paths: Sequence[str], options: TimelineOptions) -> int:
    """Print the events. Returns 0. Raises KraftlakeError."""
    is_wanted = _wanted(options)
    progress = ProgressLine()
    with branches_in(paths, options.order, options.cluster, progress) as branches:
        told = [(one, timeline(one, progress.show)) for one in branches]
    progress.clear()
    chosen = [(branch, list(filter(is_wanted, events))) for branch, events in told]
    if options.form == "text":
        for branch, events in chosen:
            _write(branch, events, options.clock)
    else:
        _write_rows([event for _, events in chosen for event in events], options)
    return 0


def _wanted(options: TimelineOptions) -> Callable[[Event], bool]:
    for pattern in options.events:
        if not any(fnmatchcase(event, pattern) for event in EVENTS):
            raise UsageError(f"--event {pattern}: expected one of {', '.join(EVENTS)}")
    since, until = (_ms(moment) for moment in (options.since, options.until))

    def is_wanted(event: Event) -> bool:
        return (
            (since is None or since <= event.at)
            and (until is None or event.at < until)
            and (
                not options.events
                or any(fnmatchcase(event.event, pattern) for pattern in options.events)
            )
        )

    return is_wanted


def _ms(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp() * 1000


def _write(branch: Branch, events: Iterable[Event], clock: ZonedClock) -> None:
    """Write a line for the cluster, one for each day, and one for each event."""
    log = branch.log
    nodes = sorted({one.replica.node_id for one in branch.members if one.replica is not None})
    write_line(
        one_line(
            f"cluster {branch.cluster_id}: offsets {log.first_offset} to {log.end_offset - 1}, "
            f"by node{'' if len(nodes) == 1 else 's'} {', '.join(map(str, nodes)) or 'unknown'}"
        )
    )
    day = None
    for event in events:
        if clock.day(event.at) != day:
            day = clock.day(event.at)
            write_line(day)
        time = f"  {clock.time(event.at)}  "
        what = coloured(event.event.ljust(_WIDTH), _COLOURS.get(event.event, ""))
        detail = event.detail
        if event.cause not in (None, ElectionCause.FIRST.value, ElectionCause.UNKNOWN.value):
            detail = f"{detail} ({event.cause})"
        write_wrapped(f"{time}{what}  ", f"{event.name}  {detail}".rstrip(), len(time) + _WIDTH + 2)


def _write_rows(events: Iterable[Event], options: TimelineOptions) -> None:
    if options.form == "json":
        for event in events:
            write_json(event._asdict())
        return
    from jobs.asking.answer import QueryResult, write_answer  # Text needs no csv.

    place = Event._fields.index("at")
    rows = ((*event[:place], options.clock.text(event.at), *event[place + 1 :]) for event in events)
    write_answer(QueryResult(Event._fields, rows), options.form)
