"""Metadata activity: a lane of bars for each kind of change, so that no colour has to be read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from pipelines.report import axis
from pipelines.report.evidence import Activity
from pipelines.report.queries import MAX_LANES
from pipelines.report.source import Row
from pipelines.report.svg import Scale, box, drawing, line, text
from pipelines.report.words import duration_text

_HEAD, _BAR, _GAP = 18, 26, 8


@dataclass(frozen=True)
class Kind:
    """One kind of change. buckets: (bucket, changes) where there are any; first, last: offsets of
    the first and the last change, inclusive."""

    name: str
    changes: int
    first: int
    last: int
    buckets: tuple[tuple[int, int], ...]


def kinds(rows: Iterable[Row]) -> list[Kind]:
    """Rows of activity_queries.activity by kind, the commonest first; changes without a time
    count, but are in no bucket."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["change"]].append(row)
    return sorted(
        (
            Kind(
                name,
                sum(row["changes"] for row in each),
                min(row["first_offset"] for row in each),
                max(row["last_offset"] for row in each),
                tuple((r["bucket"], r["changes"]) for r in each if r["bucket"] is not None),
            )
            for name, each in found.items()
        ),
        key=lambda kind: (-kind.changes, kind.name),
    )


def draw(identity: str, activity: Activity) -> Markup | None:
    """The commonest kinds; None where nothing has a time."""
    shown = [kind for kind in kinds(activity.figure.rows) if kind.buckets][:MAX_LANES]
    if not shown:
        return None
    last = max(bucket for kind in shown for bucket, _ in kind.buckets)
    scale = Scale(activity.start, activity.start + (last + 1) * activity.width)
    parts: list[Markup] = []
    y = 0
    for kind in shown:
        parts.append(_lane(kind, activity, scale, y))
        y += _HEAD + _BAR + _GAP
    parts.append(axis.time_axis(scale, y))
    title = f"Metadata changes over time, in spans of {duration_text(activity.width)}"
    told = "; ".join(f"{kind.name} {kind.changes}" for kind in shown)
    return drawing(identity, title, f"{told}.", y + axis.HEIGHT, *parts)


def _lane(kind: Kind, activity: Activity, scale: Scale, y: float) -> Markup:
    most = max(count for _, count in kind.buckets)
    foot = y + _HEAD + _BAR
    parts = [
        text(0, y + 12, kind.name, class_="who"),
        text(100, y + 12, f"{kind.changes}, at most {most}", class_="told", anchor="end"),
        line(0, foot, 100, foot, "track"),
    ]
    for bucket, count in kind.buckets:
        start = activity.start + bucket * activity.width
        x, end = scale.x(start), scale.x(start + activity.width)
        height = max(_BAR * count / most, 1.5)
        when = axis.time_label(start, "%Y-%m-%d %H:%M:%S")
        title = f"{kind.name}: {count} in {duration_text(activity.width)} from {when} UTC"
        # the gap between bars: a bar a tenth narrower than its span
        parts.append(box(x, foot - height, (end - x) * 0.9, height, "bar", title))
    return Markup("").join(parts)
