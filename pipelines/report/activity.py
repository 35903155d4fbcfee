"""Metadata activity: a lane of bars for each group of changes, so that no meaning depends on a
colour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.html_text import Html, joined
from pipelines.report import axis
from pipelines.report.evidence import Activity
from pipelines.report.source import Row
from pipelines.report.svg import Scale, box, drawing, line, text
from pipelines.report.words import duration_text
from replica.metadata.changes.catalogue import CHANGES

_HEAD, _BAR, _GAP = 18, 26, 8


@dataclass(frozen=True)
class ActivityKind:
    """One kind of change."""

    name: str
    changes: int
    first: int
    """The offset of the first change, inclusive."""
    last: int
    """The offset of the last change, inclusive."""
    buckets: tuple[tuple[int, int], ...]
    """(bucket, number of changes) of the buckets that have changes."""


def kinds(rows: Iterable[Row]) -> list[ActivityKind]:
    """The kinds of rows of change_queries.activity, the most frequent first. A change without a
    time counts, but is in no bucket."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["change"]].append(row)
    return sorted(
        (
            ActivityKind(
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


_GROUPS = {
    "Partitions": (("partition",), ("PARTITION",)),
    "Topics": (("topic",), ("TOPIC",)),
    "Configs": (("config",), ("CONFIG",)),
    "Brokers and controllers": (("broker", "controller"), ("BROKER", "CONTROLLER")),
    "Users, ACLs, quotas and tokens": (
        ("acl", "scram", "client_quota", "delegation_token"),
        ("ACCESS_CONTROL", "SCRAM", "QUOTA", "TOKEN"),
    ),
    "Quorum, features and ids": (
        ("feature", "voters", "kraft_version", "zk_migration_state", "producer_ids"),
        ("FEATURE", "KRAFT", "LEADER_CHANGE", "ZK_", "PRODUCER_IDS"),
    ),
}
"""The groups: kinds of entities, and words in the names of record types."""
OTHER = "Everything else"
"""The group of records that change no entity, and of kinds that this release doesn't know."""
_ENTITY_OF = {change.name: change.entity for change in CHANGES}


def group_of(kind: str) -> str:
    """The group of a type of change or record."""
    entity = _ENTITY_OF.get(kind)
    for name, (entities, words) in _GROUPS.items():
        if entity in entities or (entity is None and any(word in kind for word in words)):
            return name
    return OTHER


@dataclass(frozen=True)
class ActivityGroup:
    """The kinds of changes of one group of entities, the most frequent first."""

    name: str
    kinds: tuple[ActivityKind, ...]

    @property
    def changes(self) -> int:
        return sum(kind.changes for kind in self.kinds)

    @property
    def buckets(self) -> dict[int, int]:
        """The number of changes in each bucket that has changes, by the bucket's number."""
        found: dict[int, int] = defaultdict(int)
        for kind in self.kinds:
            for bucket, count in kind.buckets:
                found[bucket] += count
        return found


def groups(rows: Iterable[Row]) -> list[ActivityGroup]:
    """The groups of rows of change_queries.activity. The groups with the most changes come first;
    OTHER comes last."""
    found: dict[str, list[ActivityKind]] = defaultdict(list)
    for kind in kinds(rows):
        found[group_of(kind.name)].append(kind)
    made = (ActivityGroup(name, tuple(each)) for name, each in found.items())
    return sorted(made, key=lambda group: (group.name == OTHER, -group.changes, group.name))


def draw(identity: str, activity: Activity) -> Html | None:
    """The drawing with a lane for each group; None where no change has a time."""
    shown = [group for group in groups(activity.figure.rows) if group.buckets]
    if not shown:
        return None
    last = max(bucket for group in shown for bucket in group.buckets)
    scale = Scale(activity.start, activity.start + (last + 1) * activity.width)
    parts: list[Html] = []
    y = 0
    for group in shown:
        parts.append(_lane(group, activity, scale, y))
        y += _HEAD + _BAR + _GAP
    parts.append(axis.time_axis(scale, y))
    title = f"Metadata changes over time, in spans of {duration_text(activity.width)}"
    told = "; ".join(f"{group.name} {group.changes}" for group in shown)
    return drawing(identity, title, f"{told}.", y + axis.HEIGHT, *parts)


def _lane(group: ActivityGroup, activity: Activity, scale: Scale, y: float) -> Html:
    buckets = group.buckets
    most = max(buckets.values())
    foot = y + _HEAD + _BAR
    parts = [
        text(0, y + 12, group.name, class_="who"),
        text(100, y + 12, f"{group.changes}, at most {most}", class_="told", anchor="end"),
        line(0, foot, 100, foot, "track"),
    ]
    for bucket, count in buckets.items():
        start = activity.start + bucket * activity.width
        x, end = scale.x(start), scale.x(start + activity.width)
        height = max(_BAR * count / most, 1.5)
        when = axis.time_label(start, "%Y-%m-%d %H:%M:%S")
        title = f"{group.name}: {count} in {duration_text(activity.width)} from {when} UTC"
        # the gap between bars: a bar a tenth narrower than its span
        parts.append(box(x, foot - height, (end - x) * 0.9, height, "bar", title))
    return joined(parts)
