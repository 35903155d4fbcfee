"""The drawing under the slider. All steps have the same width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipelines.html_text import EMPTY, Html
from pipelines.report.axis import HEIGHT, ticks, time_label
from pipelines.report.evidence import Evidence
from pipelines.report.lanes import Block, Fills, draw_blocks, merged
from pipelines.report.svg import DIAMOND, Scale, box, drawing, line, marker
from pipelines.report.travel.cluster_history import ClusterHistory
from pipelines.report.travel.moments import thinned
from pipelines.report.travel.steps import ABSENT, ReportSteps
from replica.words import counted, listed

_LED, _BAR, _TOP = 20, 34, 30
"""The height of the leaders' lane, the height of the bars, and the top of the bars, in pixels."""
_MARKS = _TOP + _BAR + 10
HEIGHT_OF_LANES = _MARKS + 8
"""The height of the part under the slider, in pixels; the axis is below it."""
_COLUMNS, _TICKS = 200, 5
_MAX_MARKS = 200


def draw(identity: str, history: ClusterHistory, evidence: Evidence, fills: Fills) -> Html:
    """The drawing under the slider: the leaders of the quorum, partitions without leader or with
    fewer in-sync replicas than replicas, lost records, and brokers that changed."""
    steps = history.steps
    scale = Scale(0, max(len(steps.offsets), 1))
    counts = troubles(steps)
    leaderless, short = (at_most(steps, [one[place] for one in counts]) for place in (0, 1))
    bars = _bars(counts, scale)
    parts = [
        _leaders(steps, scale, evidence, fills),
        line(0, _TOP + _BAR, 100, _TOP + _BAR, "track"),
        *bars,
        *_lost(steps, scale, evidence),
        *_broker_marks(steps, scale),
        line(0, HEIGHT_OF_LANES, 100, HEIGHT_OF_LANES, "axis"),
        *_ticks(steps, scale),
    ]
    title = f"{counted(len(steps.offsets), 'moment')} at which anything changed"
    told = _told(steps, leaderless, short)
    return drawing(identity, title, told, HEIGHT_OF_LANES + HEIGHT, *parts)


def _told(steps: ReportSteps, leaderless: AtMost, short: AtMost) -> str:
    """A sentence with the largest number of partitions without leader, and the largest number of
    partitions with fewer in-sync replicas than replicas."""
    if not steps.partitions.names:
        return "There was no partition."
    troubled = [
        f"{one.most:,} of {one.of:,} partitions {trouble}"
        for one, trouble in (
            (leaderless, "without leader"),
            (short, "with fewer in-sync replicas than replicas"),
        )
        if one.most
    ]
    if not troubled:
        return "At each of these moments all partitions had a leader and all replicas in sync."
    return f"At most {listed(troubled)}."


def _leaders(steps: ReportSteps, scale: Scale, evidence: Evidence, fills: Fills) -> Html:
    rows = [
        row
        for row in evidence.leaders.rows
        if row["start_offset"] is not None and row["commitment"] != "superseded"
    ]
    starts = [steps.place(row["start_offset"]) for row in rows]
    ends = [*starts[1:], len(steps.offsets)][: len(starts)]
    blocks = [
        Block(
            start,
            end,
            fills.of(row["leader_id"]),
            (f"node {row['leader_id']}, epoch {row['epoch']}", str(row["leader_id"])),
            f"epoch {row['epoch']}, leader {row['leader_id']}",
        )
        for row, start, end in zip(rows, starts, ends, strict=True)
        if start < end
    ]
    return draw_blocks(merged(blocks, scale), scale, 0, _LED) if blocks else EMPTY


def troubles(steps: ReportSteps) -> list[tuple[int, int]]:
    """For each step, the number of partitions without leader, and the number of partitions with
    fewer in-sync replicas than replicas. A partition may count in both."""
    found: list[tuple[int, int]] = []
    states = steps.partitions.states
    none = [int(state[0] == ABSENT) for state in states]
    few = [int(len(state[1]) < len(state[2])) for state in states]  # type: ignore[arg-type]
    leaderless = short = 0
    for move in steps.partitions.moves:
        found += [(leaderless, short)] * (move.step - len(found))
        if move.before != ABSENT:
            leaderless, short = leaderless - none[move.before], short - few[move.before]
        if move.after != ABSENT:
            leaderless, short = leaderless + none[move.after], short + few[move.after]
    return found + [(leaderless, short)] * (len(steps.offsets) - len(found))


class AtMost(NamedTuple):
    """The most partitions with a problem at one step. of: the number of partitions at that step."""

    step: int
    most: int
    of: int


def at_most(steps: ReportSteps, counts: Sequence[int], first: int = 0) -> AtMost:
    """The first step at which the most partitions have a problem. counts: the number of partitions
    with the problem, at each step from `first` on."""
    most = max(counts, default=0)
    step = first + counts.index(most) if counts else first
    of = sum((move.before < 0) - (move.after < 0) for move in steps.partitions.moves
             if move.step <= step)  # fmt: skip
    return AtMost(step, most, of)


def _bars(counts: Sequence[tuple[int, int]], scale: Scale) -> list[Html]:
    worst = max((max(one) for one in counts), default=0)
    highest = max(worst, 1)
    width = -(-len(counts) // _COLUMNS)
    parts = []
    for start in range(0, len(counts), width):
        span = counts[start : start + width]
        x, end = scale.x(start), scale.x(start + len(span))
        for place, class_ in ((1, "short"), (0, "lost")):
            most = max(one[place] for one in span)
            if most:
                height = max(_BAR * most / highest, 2)
                parts.append(box(x, _TOP + _BAR - height, end - x, height, class_))
    return parts


def _lost(steps: ReportSteps, scale: Scale, evidence: Evidence) -> list[Html]:
    parts = []
    for loss in evidence.losses[:_MAX_MARKS]:
        start, stop = steps.place(loss.first), steps.place(loss.drawn_to)
        x = scale.x(min(start, len(steps.offsets) - 1))
        width = max(scale.x(stop) - x, 0.6)
        title = f"{counted(loss.records, 'record')} lost from offset {loss.first} on"
        parts.append(box(x, _MARKS - 4, width, 8, "lost", title))
    return parts


def _broker_marks(steps: ReportSteps, scale: Scale) -> list[Html]:
    places: Sequence[int] = sorted({move.step for move in steps.brokers.moves})
    return [
        marker(scale.x(place + 0.5), _MARKS, DIAMOND, "snapshot")
        for place in thinned(places, _MAX_MARKS)
    ]


def _ticks(steps: ReportSteps, scale: Scale) -> Iterator[Html]:
    """The times of some steps. The distance of steps is by number, not by time. A step of a lost
    branch may be earlier than the steps before it; its time is then left out."""
    known: list[tuple[int, int]] = []
    for place, time in enumerate(steps.times):
        if time is not None and (not known or time >= known[-1][1]):
            known.append((place, time))
    chosen = [known[place] for place in thinned(range(len(known)), _TICKS)]
    shown = [time_label(time / 1000, "%H:%M:%S") for _, time in chosen]
    if len(set(shown)) < len(shown):
        shown = [f"{time_label(time // 1000, '%H:%M:%S')}.{time % 1000:03}" for _, time in chosen]
    places = [scale.x(place + 0.5) for place, _ in chosen]
    return ticks(HEIGHT_OF_LANES, zip(places, shown, strict=True), edge=6)
