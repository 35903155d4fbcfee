"""The report's slider over every moment of a cluster, in the form that the template takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.html_text import Html
from pipelines.report.evidence import Evidence
from pipelines.report.lanes import Fills
from pipelines.report.travel import queries, strip
from pipelines.report.travel.moments import Why
from pipelines.report.travel.packed import packed
from pipelines.report.travel.trip import Trip
from pipelines.report.words import Names
from replica.words import counted, listed, ms_text


@dataclass(frozen=True)
class JourneyView:
    """The slider for the template. The rows behind it are not in here, because they take much
    memory."""

    start: int
    """The step that is shown first."""
    last: int
    """The last step."""
    example: str
    """A moment to go to."""
    strip: Html
    strip_height: int
    sampled: str
    """A text about the changes that are left out, empty where none is."""
    judged: str
    """A text about the moments that are judged."""
    asked: tuple[tuple[str, str], ...]
    """The queries behind the slider, each with what its rows are."""
    data: Html
    """The result of `packed`."""


def journey_view(
    identity: str, trip: Trip | None, evidence: Evidence, names: Names, fills: Fills
) -> JourneyView | None:
    """The view of the slider; None where there is no history to show. identity: the beginning of
    the ids in the page."""
    if trip is None:
        return None
    steps = trip.steps
    return JourneyView(
        _start(trip, evidence),
        len(steps.offsets) - 1,
        ms_text(steps.times[-1]).removesuffix(" UTC") or str(steps.offsets[-1]),
        strip.draw(f"{identity}-strip", trip, evidence, fills),
        strip.HEIGHT_OF_LANES,
        _sampled(trip),
        _judged(trip),
        tuple(_asked(trip)),
        packed(trip, evidence, names),
    )


def _asked(trip: Trip) -> Iterator[tuple[str, str]]:
    yield trip.changes.sql, "the changes at each moment"
    yield trip.versions.sql, "the partitions and brokers at each moment"
    if trip.judged_by is not None:
        yield trip.judged_by, "the state whose health is judged last"


def _start(trip: Trip, evidence: Evidence) -> int:
    """The step at which logs first diverged; the newest one where none did."""
    last = len(trip.steps.offsets) - 1
    first = min((loss.first for loss in evidence.losses), default=None)
    return last if first is None else min(trip.steps.place(first), last)


def _sampled(trip: Trip) -> str:
    if not trip.is_sampled:
        return ""
    return (
        f"Sampled: {len(trip.changes.rows):,} of {trip.all_changes:,} changes and "
        f"{len(trip.versions.rows):,} of {trip.all_versions:,} versions of partitions and brokers "
        "are in this view. The rules choose entities, each with its changes: first those of the "
        "whole cluster (brokers, controllers, features, voters), then those that a lost branch "
        f"tells of, then those that changed last; of one entity the newest {queries.MAX_OF_ONE:,}. "
        "Counts of partitions are those of the chosen ones; health is judged on all. "
        "--cluster makes a page of one cluster, which has more room."
    )


def _judged(trip: Trip) -> str:
    count = len(trip.judgements)
    if not count:
        return "Health is judged at no moment: the state is known at none of them."
    if count == len(trip.steps.offsets):
        return "Health and exposure are judged at every moment."
    rules = [why.value for why in Why if any(one.moment.why is why for one in trip.judgements)]
    return (
        f"Health and exposure are judged at {counted(count, 'moment')} of "
        f"{len(trip.steps.offsets):,}, chosen by these rules: {listed(rules)}. Between them the "
        "view shows the last one before. Since when a reassignment runs is not judged here."
    )
