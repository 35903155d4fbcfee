"""Finds leaders whose own logs lack records that they wrote: only a leader writes the records of
its epoch, so it had all records of this epoch that its followers have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replica.doctor.quorum.log_ends import COPYING_MS, LogEnd
from replica.model.keys import ReplicaKey
from replica.words import duration_text, up_to


@dataclass(frozen=True, slots=True)
class LacksOwn:
    """The records of a leader's epoch that its own log lacks."""

    epoch: int
    end: int
    """The end (exclusive) of the leader's log."""
    others_end: int
    """The end (exclusive) of the epoch's records in other logs."""
    lacking_ms: int
    """The time (ms) from the leader's newest record to the newest record of the other logs."""

    def __str__(self) -> str:
        return (
            f"it led epoch {self.epoch}, and its own log goes {up_to(self.end)}, while others "
            f"hold what it wrote {up_to(self.others_end)}, "
            f"{duration_text(self.lacking_ms)} later"
        )


def lacks_own(ends: Sequence[LogEnd]) -> dict[ReplicaKey, LacksOwn]:
    """For each leader, the records of its last epoch that its own log lacks. A leader is left out
    if its lack may come from copying running nodes one after another."""
    found = {}
    for own in ends:
        same = [one for one in ends if one.epoch == own.epoch]
        furthest = max(same, key=lambda one: one.end)
        lacking_ms = furthest.at_ms - own.at_ms
        if own.is_leader and furthest.end > own.end and lacking_ms >= COPYING_MS:
            found[own.key] = LacksOwn(own.epoch, own.end, furthest.end, lacking_ms)
    return found
