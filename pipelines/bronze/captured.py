"""A look that has got its place in the lake: a group, a moment and a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.bronze.coverage import Uncovered
from pipelines.capture.looks import Group, Look, next_free
from replica.types import ReplicaId


@dataclass(frozen=True, slots=True)
class KnownCapture:
    """A row of bronze.captures, as far as placing new ones needs it."""

    capture_group: str
    replica: ReplicaId
    at: datetime
    ingest_seq: int
    log_start_offset: int
    uncovered: tuple[Uncovered, ...]


@dataclass(frozen=True, slots=True)
class Captured:
    """at: captured_at, unique among the replica's captures. ingest_seq: one number for a round.

    previous_at: of the replica's capture just before, None without one; later: those after it.
    """

    look: Look
    group_id: str
    at: datetime
    ingest_seq: int
    previous_at: datetime | None
    later: tuple[KnownCapture, ...]

    @property
    def next_at(self) -> datetime | None:
        """captured_at of the replica's capture just after, None without one."""
        return self.later[0].at if self.later else None

    @property
    def replica_columns(self) -> dict[str, Any]:
        replica = self.look.replica
        return {
            "cluster_id": replica.cluster_id,
            "node_id": replica.node_id,
            "directory_id": replica.directory_id,
        }


def place(
    groups: Iterable[Group], known: Iterable[KnownCapture], now: datetime
) -> tuple[Captured, ...]:
    """The looks of groups that the lake doesn't have yet, each at its moment.

    A look without a time of its own gets `now`.
    """
    known = list(known)
    groups_known = {row.capture_group for row in known}
    ingest_seq = max((row.ingest_seq for row in known), default=0) + 1
    placed: list[Captured] = []
    for group in groups:
        if group.group_id in groups_known:
            continue
        for look in group.looks:
            others = [row for row in known if row.replica == look.replica]
            at = next_free(look.captured_at or now, {row.at for row in others})
            later = sorted((row for row in others if row.at > at), key=lambda row: row.at)
            placed.append(
                Captured(
                    look,
                    group.group_id,
                    at,
                    ingest_seq,
                    max((row.at for row in others if row.at < at), default=None),
                    tuple(later),
                )
            )
    return tuple(placed)
