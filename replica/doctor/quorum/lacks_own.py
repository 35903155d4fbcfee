"""Finds leaders whose own logs lack records that they wrote: only a leader writes the records of
its epoch, so it had what its followers have of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from replica.model.keys import ReplicaKey
from replica.words import up_to

COPYING_MS = 10_000
"""The time, in ms, that copying the directories of a running cluster may take, one after the other:
the leader's copy may be so much older than those of its followers."""


class LogEnd(NamedTuple):
    """Where the log of a replica ends."""

    key: ReplicaKey
    epoch: int
    """The epoch of its last batch."""
    end: int
    """The offset behind that batch (exclusive)."""
    at_ms: int
    """The largest time in that batch, in ms since 1970 (UTC)."""
    is_leader: bool
    """Whether its own log says that it leads this epoch."""


@dataclass(frozen=True, slots=True)
class LacksOwn:
    """What the log of a leader lacks of its own records."""

    epoch: int
    end: int
    """The end (exclusive) of its log."""
    others_end: int
    """The end (exclusive) of the records of its epoch that others hold."""
    lacking_ms: int
    """How long after its newest record the newest one of the others was written."""

    def __str__(self) -> str:
        return (
            f"it led epoch {self.epoch}, and its own log goes {up_to(self.end)}, while others "
            f"hold what it wrote {up_to(self.others_end)}, "
            f"{self.lacking_ms / 1000:.0f} s later"
        )


def lacks_own(ends: Sequence[LogEnd]) -> dict[ReplicaKey, LacksOwn]:
    """The leaders of the newest epochs that lack more than a copy of running nodes explains."""
    found = {}
    for own in ends:
        same = [one for one in ends if one.epoch == own.epoch]
        furthest = max(same, key=lambda one: one.end)
        lacking_ms = furthest.at_ms - own.at_ms
        if own.is_leader and furthest.end > own.end and lacking_ms >= COPYING_MS:
            found[own.key] = LacksOwn(own.epoch, own.end, furthest.end, lacking_ms)
    return found
