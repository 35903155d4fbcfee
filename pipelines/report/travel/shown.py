"""The report's slider over every moment of a cluster, in the form that sections.journey takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.html_text import Html
from pipelines.report.evidence import Evidence
from pipelines.report.lanes import Fills
from pipelines.report.travel import queries, strip
from pipelines.report.travel.cluster_history import ClusterHistory
from pipelines.report.travel.moments import Why
from pipelines.report.travel.packed import packed
from pipelines.report.words import Names
from replica.words import counted, listed, ms_text


@dataclass(frozen=True)
class JourneyView:
    """The slider as sections.journey shows it. The rows behind the slider are left out, because
    they take much memory."""

    start: int
    """The step that is shown first."""
    last: int
    """The last step."""
    example: str
    """A moment, as an example of an input for the slider's field."""
    strip: Html
    strip_height: int
    sampled: str
    """A text about changes that are left out; empty where no change is left out."""
    judged: str
    """A text about the moments that are judged."""
    asked: tuple[tuple[str, str], ...]
    """Each query behind the slider, and what its rows are."""
    data: Html
    """The result of `packed`."""


def journey_view(
    identity: str, history: ClusterHistory | None, evidence: Evidence, names: Names, fills: Fills
) -> JourneyView | None:
    """The view of the slider; None where there is no history to show. identity: the beginning of
    the ids in the page."""
    if history is None:
        return None
    steps = history.steps
    return JourneyView(
        _start(history, evidence),
        len(steps.offsets) - 1,
        ms_text(steps.times[-1]).removesuffix(" UTC") or str(steps.offsets[-1]),
        strip.draw(f"{identity}-strip", history, evidence, fills),
        strip.HEIGHT_OF_LANES,
        _sampled(history),
        _judged(history),
        tuple(_asked(history)),
        packed(history, evidence, names),
    )


def _asked(history: ClusterHistory) -> Iterator[tuple[str, str]]:
    yield history.changes.sql, "the changes at each moment"
    yield history.versions.sql, "the partitions and brokers at each moment"
    if history.judged_by is not None:
        yield history.judged_by, "the state whose health is judged last"


def _start(history: ClusterHistory, evidence: Evidence) -> int:
    """The step at the first offset of all losses, or the next step after it; the last step where
    nothing was lost."""
    last = len(history.steps.offsets) - 1
    first = min((loss.first for loss in evidence.losses), default=None)
    return last if first is None else min(history.steps.place(first), last)


def _sampled(history: ClusterHistory) -> str:
    if not history.is_sampled:
        return ""
    return (
        f"Sampled: {len(history.changes.rows):,} of {history.all_changes:,} changes and "
        f"{len(history.versions.rows):,} of {history.all_versions:,} versions of partitions and "
        "brokers are in this view. The rules choose entities, each with its changes: first those "
        "of the whole cluster (brokers, controllers, features, voters), then those that a lost "
        "branch tells of, then those that changed last; of one entity the newest "
        f"{queries.MAX_OF_ONE:,}. Counts of partitions are those of the chosen ones; health is "
        "judged on all. "
        "--cluster makes a page of one cluster, which has more room."
    )


def _judged(history: ClusterHistory) -> str:
    count = len(history.judgements)
    if not count:
        return "Health is judged at no moment: the state is known at none of them."
    if count == len(history.steps.offsets):
        return "Health and exposure are judged at every moment."
    rules = [why.value for why in Why if any(one.moment.why is why for one in history.judgements)]
    return (
        f"Health and exposure are judged at {counted(count, 'moment')} of "
        f"{len(history.steps.offsets):,}, chosen by these rules: {listed(rules)}. Between them the "
        "view shows the last one before. Since when a reassignment runs is not judged here."
    )
