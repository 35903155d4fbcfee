"""Looks at directories with their place in the lake: a group, a time and a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipelines import delta
from pipelines.bronze.coverage import Uncovered
from pipelines.capture.looks import CaptureGroup, Look, next_free
from pipelines.tables.bronze import CAPTURES, REPLICA_KEYS
from pipelines.tables.keys import replica_of
from replica.errors import UsageError
from replica.model.keys import ReplicaId

_CLOCK_STEP = timedelta(seconds=1)
"""Captures of one call without a time of their own get times that are less than this apart. A
larger distance to the newest capture means that the clock was set back."""


@dataclass(frozen=True, slots=True)
class KnownCapture:
    """A row of bronze.captures, with what is needed to place new captures."""

    capture_group: str
    replica: ReplicaId
    at: datetime
    ingest_seq: int
    log_start_offset: int
    uncovered: tuple[Uncovered, ...]


@dataclass(frozen=True, slots=True)
class Captured:
    """A look with its place. at: captured_at, unique among the replica's captures. ingest_seq: the
    number of its round.

    previous_at: captured_at of the replica's capture just before, None without one. now: the
    clock's time at the ingest. later: the replica's captures after it.
    """

    look: Look
    group_id: str
    at: datetime
    ingest_seq: int
    previous_at: datetime | None
    now: datetime
    later: tuple[KnownCapture, ...]

    @property
    def next_at(self) -> datetime | None:
        """captured_at of the replica's capture just after, None without one."""
        return self.later[0].at if self.later else None

    @property
    def clock_is_behind(self) -> bool:
        """Whether the clock's time is before a capture that was ingested earlier."""
        return self.look.captured_at is None and self.at - self.now > _CLOCK_STEP


def known_captures(lake: delta.Lake) -> list[KnownCapture]:
    """The captures that the lake has: a row for each replica of each group."""
    columns = (
        "capture_group", *REPLICA_KEYS, "captured_at", "ingest_seq",
        "log_start_offset", "uncovered",
    )  # fmt: skip
    return [
        KnownCapture(
            row["capture_group"],
            replica_of(row),
            row["captured_at"],
            row["ingest_seq"],
            row["log_start_offset"],
            tuple(Uncovered(gap["start"], gap["end"]) for gap in row["uncovered"]),
        )
        for row in delta.values(lake, CAPTURES, columns)
    ]


def place(
    groups: Iterable[CaptureGroup], known: Iterable[KnownCapture], now: datetime
) -> tuple[Captured, ...]:
    """The looks of groups that the lake doesn't have yet, each with its time.

    A look without a time of its own gets `now`. Where the clock is behind the newest capture of a
    replica of its group, it gets the first free time after that capture: a directory that is read
    now is newer than an earlier capture of it. All such looks of a group get one time. Raises
    UsageError where a look was made against a capture that is not the newest any more.
    """
    known = list(known)
    groups_known = {row.capture_group for row in known}
    ingest_seq = max((row.ingest_seq for row in known), default=0) + 1
    placed: list[Captured] = []
    for group in groups:
        if group.group_id in groups_known:
            continue
        together = _moment_of(group, known, now)
        for look in group.looks:
            others = [row for row in known if row.replica == look.replica]
            newest = max((row.at for row in others), default=now)
            at = next_free(look.captured_at or together, {row.at for row in others})
            if look.base is not None and (look.base.at != newest or at < newest):
                raise UsageError(
                    f"{look.location.shown}: another ingest of it has ended meanwhile: "
                    "run this one again"
                )
            later = sorted((row for row in others if row.at > at), key=lambda row: row.at)
            placed.append(
                Captured(
                    look,
                    group.group_id,
                    at,
                    ingest_seq,
                    max((row.at for row in others if row.at < at), default=None),
                    now,
                    tuple(later),
                )
            )
    return tuple(placed)


def _moment_of(group: CaptureGroup, known: Iterable[KnownCapture], now: datetime) -> datetime:
    """The time of the looks without a time of their own: after all captures of their replicas."""
    replicas = {look.replica for look in group.looks if look.captured_at is None}
    taken = {row.at for row in known if row.replica in replicas}
    return next_free(max([now, *taken]), taken)
