"""`kraftlake timeline`: what happened to a cluster by clock time, directly from directories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jobs.cli.clock import ZonedClock, clock_of
from jobs.cli.commands.combinations import form_of
from jobs.cli.commands.happening import TimelineOptions
from jobs.cli.commands.options import names_in, passed_over_in
from jobs.cli.directories.given_rounds import branches_in
from jobs.cli.directories.incident import TAKEN_AWAY, Weight, usual_weight
from jobs.cli.directories.story import WIDTH, cut, few_of
from jobs.cli.moments import Period, period_of
from jobs.cli.option_values import check_patterns, fits
from jobs.cli.output import ProgressLine, coloured, complain, write_line, write_wrapped
from replica.doctor.check.behind import behind_newest
from replica.doctor.quorum.log_ends import COPYING_MS
from replica.doctor.timeline.asked_for import kinds_text
from replica.doctor.timeline.branch import Branch
from replica.doctor.timeline.causes import ElectionCause
from replica.doctor.timeline.decisive import FEATURES, decisive
from replica.doctor.timeline.event import COLUMNS, Event
from replica.doctor.timeline.events import (
    ELECTION,
    EVENTS,
    OF_HISTORY,
    SNAPSHOT,
    UNWON,
    timeline,
)
from replica.doctor.timeline.gaps import gaps_of, times_that_go_back
from replica.doctor.timeline.reassignments import REPLICAS
from replica.doctor.timeline.state import last_time
from replica.doctor.timeline.tails import DIVERGENCE, HISTORIES_PART, TRUNCATION
from replica.doctor.timeline.unwon import leader_that_gave_up
from replica.shell_text import line, paths
from replica.terminal_text import one_line
from replica.words import duration_text

_NEWEST = 4
"""The most events in the first lines."""
_FEW = 10
"""A list with more events than this begins with lines about the newest events."""
_COLOURS = {
    ELECTION: "yellow", UNWON: "red", DIVERGENCE: "red", HISTORIES_PART: "red",
    TRUNCATION: "red",
    "broker_fenced": "yellow",
}  # fmt: skip


def run(options: TimelineOptions) -> int:
    """Prints the events that the options ask for. Returns 0. Raises KraftlakeError."""
    form = form_of(options.json_output, options.csv, options.plain_csv)
    clock = clock_of(options.zone)
    is_wanted = _wanted(options.events or (), period_of(options.from_time, options.to_time))
    progress = ProgressLine()
    directories = branches_in(
        options.paths,
        names_in(options.order),
        options.cluster,
        progress,
        all_damages=form != "text",
        passed_over=passed_over_in(options.pass_over),
    )
    with directories as branches:
        also = [one for one in OF_HISTORY if options.events and fits(one, options.events)]
        told = [(one, timeline(one, progress.show, also)) for one in branches]
        progress.clear()
        chosen = [(branch, list(filter(is_wanted, found.events))) for branch, found in told]
        if form == "text":
            for (branch, events), (_, found) in zip(chosen, told, strict=True):
                late = [] if options.events else filter(is_wanted, found.recent)
                _write(branch, events, [one for one in late if one.event in TAKEN_AWAY], clock)
        else:
            from jobs.cli.asking.query_result import write_timed  # text needs no csv

            rows = (event.shown for _, events in chosen for event in events)
            write_timed(COLUMNS, rows, form, clock)
        for branch, found in told:
            said = [*times_that_go_back(branch)] if form == "text" else []
            for gap in gaps_of(branch, found.unknown):
                if gap not in said:  # above the events
                    complain(f"timeline: {gap}")
            counts = found.asked_for.since(0)
            del counts[REPLICAS.partition("_")[0]]  # they are listed
            if form == "text" and not options.events and counts:
                listing = line("kraftlake", "history", *paths(options.paths))
                complain(
                    f"timeline: not listed: {kinds_text(counts)}: `{listing}` lists them, and "
                    "--event names them"
                )
        for branch, events in chosen:
            if not events:
                log = branch.log
                offsets = f"offsets {log.first_offset} to {log.end_offset - 1}"
                complain(f"timeline: nothing of what was asked for happened in {offsets}")
    return 0


def _wanted(patterns: Sequence[str], period: Period) -> Callable[[Event], bool]:
    check_patterns("--event", patterns, EVENTS)
    return lambda event: period.holds(event.at) and fits(event.event, patterns)


def _write(
    branch: Branch, events: Sequence[Event], taken: Sequence[Event], clock: ZonedClock
) -> None:
    """Writes a line for the cluster, a line where its times are not in order, what happened last, a
    line for each day, and a line for each event. taken: late changes of TAKEN_AWAY that are not
    among `events`."""
    log = branch.log
    late = _late(branch)
    nodes = {one.replica.node_id for one in branch.members if one.replica is not None} - late.keys()
    write_line(
        one_line(
            f"cluster {branch.cluster_id}: offsets {log.first_offset} to {log.end_offset - 1}, "
            f"by node{'' if len(nodes) == 1 else 's'} "
            f"{', '.join(map(str, sorted(nodes))) or 'unknown'}"
            f"{''.join(late[node] for node in sorted(late))}"
        )
    )
    for sentence in times_that_go_back(branch):
        write_line(one_line(f"{sentence[0].upper()}{sentence[1:]}."))
    for sentence in _newest(branch, events, taken, clock) if len(events) > _FEW else ():
        write_line(one_line(sentence))
    day = None
    width = max((len(event.event) for event in events), default=0)
    for event in events:
        if clock.day(event.at) != day:
            day = clock.day(event.at)
            write_line(day)
        time = f"  {clock.time(event.at)}  "
        what = coloured(event.event.ljust(width), _COLOURS.get(event.event, ""))
        detail = event.detail
        if event.cause not in (None, ElectionCause.FIRST.value, ElectionCause.UNKNOWN.value):
            detail = f"{detail} ({event.cause})"
        write_wrapped(f"{time}{what}  ", f"{event.name}  {detail}".rstrip(), len(time) + width + 2)


def _late(branch: Branch) -> dict[int, str]:
    """For each node whose log in the newest round ends long before the newest log: a clause that
    says where it ends. A log that left the branch has an event of its own."""
    parted = {id(one) for tail in branch.tails for one in tail.holders}
    logs = [one for one in branch.rounds[-1] if id(one) not in parted]
    found = {}
    for one, behind in zip(logs, behind_newest(logs, ()), strict=True):
        ms = None if behind is None else behind.ms
        if one.replica is not None and ms is not None and ms > COPYING_MS:
            node, last = one.replica.node_id, one.directory.log_end_offset - 1
            found[node] = f"; node {node}'s log ends at offset {last}, {duration_text(ms)} before"
    return found


def _newest(
    branch: Branch, events: Sequence[Event], taken: Sequence[Event], clock: ZonedClock
) -> Iterator[str]:
    """What happened last, for a person who reads only the first ten lines, and the command that
    lists only the newest events. Without a decisive event, the newest ones are told, and snapshots
    only if there is nothing else. Another line says that the quorum's last leader gave up, which
    no record and therefore no event shows."""
    if (node := leader_that_gave_up(branch)) is not None:
        yield (
            f"after the last record, {clock.words(last_time(branch))}: node {node} gave up leading "
            "the quorum, and no directory names a leader since"
        )
    told = [one for one in events if one.event != SNAPSHOT]
    told = told if len(told) > 1 else [*events]
    weighty = sorted([*decisive(told), *taken], key=lambda one: one.offset)
    told_first = weighty or told
    weights = (Weight.LIGHT if one.event in TAKEN_AWAY else usual_weight(one) for one in told_first)
    few = few_of([*zip((one.at for one in told_first), weights, strict=True)], _NEWEST)
    levels = [one for one in told_first if one.event in FEATURES][-1:]
    level = "".join(
        f"; the last level changed at {clock.words(one.at)}: {one.name} {one.detail}"
        for one in levels
        if one not in [told_first[number] for number in few]
    )
    yield f"newest{' decisive' * bool(weighty)} events of {len(events)}{level}:"
    for one in (told_first[number] for number in few):
        yield cut(f"  {clock.words(one.at)}  {one.event} {one.name} {one.detail}".rstrip(), WIDTH)
    newest = line("kraftlake", "timeline", "--from-time", clock.text(told[-_FEW:][0].at))
    yield (
        f"the oldest come first: `{newest}` with the same directories lists the newest, and "
        "`kraftlake what-happened` begins with the verdict"
    )
