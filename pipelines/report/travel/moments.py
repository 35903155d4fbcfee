"""Chooses the moments at which the report judges the health of a cluster: every step where there
are few, and some of the steps where there are many.

Rules choose the moments that matter, in the order of the rules. Where a rule chooses too many, its
moments are thinned evenly, and the first and the last of them stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from pipelines.report.source import Row
from pipelines.report.travel.steps import ReportSteps

MAX_MOMENTS = 24
MAX_ENTITIES = 120_000
"""The most entities that are read for all moments of a cluster together. So a large cluster has
fewer moments."""


class Why(Enum):
    """The rules, in the order in which they choose. The page shows the values."""

    NEWEST = "the newest known state"
    BROKERS = "a broker or voter came, went or was fenced"
    ELECTIONS = "a leader epoch began"
    LOSSES = "the last moment before logs parted"
    EVENLY = "evenly between the others"


_BROKER_CHANGES = frozenset({"broker", "voters"})


@dataclass(frozen=True)
class ReportMoment:
    """A moment whose state is judged."""

    step: int
    """The index of the last step that the state contains."""
    end_offset: int
    """The end offset of the judged state, exclusive."""
    why: Why
    """The rule that chose the moment."""


def chosen(
    steps: ReportSteps,
    changes: Iterable[Row],
    ranges: Iterable[Row],
    losses: Iterable[int],
    entities: int,
) -> tuple[ReportMoment, ...]:
    """At most MAX_MOMENTS moments, by ascending offset.

    changes: rows of queries.changes. ranges: rows of pipelines.report.queries.state_ranges, where a
    state is known. losses: the first offset of each loss of records. entities: the number of
    entities in the newest state.
    """
    known = [(row["from_offset"], row["to_offset"]) for row in ranges]
    end = max((to for _, to in known), default=0)
    if not end:
        return ()
    room = max(1, min(MAX_MOMENTS, MAX_ENTITIES // max(entities, 1)))
    last = max(steps.place(end) - 1, 0)
    named = {
        Why.NEWEST: [last],
        Why.BROKERS: [
            steps.place(row["offset"])
            for row in changes
            if row["entity"] in _BROKER_CHANGES and not row["is_lost"]
        ],
        Why.ELECTIONS: [steps.place(offset) for offset in steps.elections],
        Why.LOSSES: [steps.place(offset) - 1 for offset in losses],
        Why.EVENLY: list(range(last + 1)),
    }
    found: dict[int, Why] = {}
    for why, places in named.items():
        fresh = sorted({place for place in places if 0 <= place <= last} - found.keys())
        left = room - len(found)
        share = left if why in (Why.NEWEST, Why.EVENLY) else -(-left // 2)
        found |= dict.fromkeys(thinned(fresh, share), why)
    moments = (
        ReportMoment(place, end if place == last else steps.offsets[place] + 1, why)
        for place, why in sorted(found.items())
    )
    return tuple(
        one for one in moments if any(start <= one.end_offset <= to for start, to in known)
    )


def thinned(places: Sequence[int], count: int) -> list[int]:
    """At most `count` of the places, evenly chosen. The first and the last place are kept; where
    `count` is 1, only the last one."""
    if len(places) <= count:
        return list(places)
    if count <= 1:
        return list(places[len(places) - count :])
    return [places[round(at * (len(places) - 1) / (count - 1))] for at in range(count)]
