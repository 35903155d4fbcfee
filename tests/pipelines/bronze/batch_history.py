"""The row of bronze.log_batches for a batch by its definition, computed from
all captures at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

ABSENT, DELETED, DAMAGED, HELD = range(4)
"""What a capture may hold of a batch: nothing, a .log.deleted file, damaged bytes, the log."""


@dataclass(frozen=True)
class Moment:
    """A capture: what it holds of each batch, the first offset that it covers, and the offsets
    about which it shows nothing."""

    at: datetime
    states: tuple[int, ...]
    covered_from: int
    uncovered: tuple[int, int]


def expected(moments: Sequence[Moment], batch: int) -> dict[str, Any] | None:
    """The columns by their definition, computed from all captures in the order of their time."""
    seen = [m for m in moments if m.states[batch] != ABSENT]
    if not seen:
        return None
    vanished = next((m for m in moments if m.at > seen[0].at and _shows_absence(m, batch)), None)
    below = vanished is not None and batch < vanished.covered_from
    newest = moments[-1]
    return {
        "first_seen": seen[0].at,
        "last_seen": None if seen[-1] is newest else seen[-1].at,
        "truncated_at": vanished.at if vanished and not below else None,
        "removed_at": vanished.at if vanished and below else None,
        "in_log": spans_of(moments, batch, (HELD,)),
        "undamaged": spans_of(moments, batch, (HELD, DELETED)),
        "seen": spans_of(moments, batch, (HELD, DELETED, DAMAGED)),
        "crc_valid": any(m.states[batch] != DAMAGED for m in seen),
    }


def spans_of(
    moments: Sequence[Moment], batch: int, states: tuple[int, ...]
) -> list[list[datetime | None]]:
    """Runs of captures that have the batch in one of the states. A run with the newest capture is
    open."""
    spans: list[list[datetime | None]] = []
    for before, moment in zip([None, *moments], moments, strict=False):
        if moment.states[batch] in states:
            if before is not None and before.states[batch] in states:
                spans[-1][1] = moment.at
            else:
                spans.append([moment.at, moment.at])
    if spans and spans[-1][1] == moments[-1].at:
        spans[-1][1] = None
    return spans


def _shows_absence(moment: Moment, batch: int) -> bool:
    covered = not moment.uncovered[0] <= batch < moment.uncovered[1]
    return moment.states[batch] == ABSENT and covered
