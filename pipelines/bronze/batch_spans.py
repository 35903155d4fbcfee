"""How one capture changes the row of a batch in bronze.log_batches. The functions are pure: of the
row so far, of the batch in the capture, and of the capture's place among its replica's captures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.bronze.captured import KnownCapture, Uncovered, may_hide
from pipelines.tables.keys import covers

Row = Mapping[str, Any]
_Spans = list[dict[str, Any]]
_Vanished = tuple[datetime, bool]
"""captured_at of the first capture that lacks the batch, and whether the batch's offset is below
all offsets that this capture's log covers."""

HELD_BY: Mapping[str, str | None] = {"in_log": "held", "undamaged": "crc_valid", "seen": None}
"""For each column with spans: the column that must be true in a capture's batch for the capture to
count in these spans. None: every capture with the batch counts."""
FOLDED_COLUMNS = (
    "crc_valid", "first_seen", "last_seen", "truncated_at", "removed_at",
    *HELD_BY,
)  # fmt: skip
"""The columns that a capture may change."""


@dataclass(frozen=True, slots=True)
class FoldedCapture:
    """A capture of one replica, with the facts by which its batches are folded into spans."""

    at: datetime
    """captured_at of the capture."""
    previous_at: datetime | None
    """captured_at of the replica's capture just before; None where this one is the first."""
    covered_from: int
    """The offset from which on the log shows what it holds and what it lacks (inclusive): see
    pipelines.bronze.captured.covered_from."""
    uncovered: tuple[Uncovered, ...]
    """The offsets that damage may hide."""
    later: tuple[KnownCapture, ...] = ()
    """The replica's captures with later times that were ingested before this one, in ascending
    order of these times."""
    still_held: tuple[tuple[int, int], ...] = ()
    """Ranges of offsets (end exclusive) whose batches the log still has, though they were not read
    again."""

    @property
    def next_at(self) -> datetime | None:
        """captured_at of the replica's capture just after; None where this one is the newest."""
        return self.later[0].at if self.later else None


def folded(
    base_offset: int, old: Row | None, new: Row | None, moment: FoldedCapture
) -> dict[str, Any]:
    """The values of FOLDED_COLUMNS in the batch's row after the capture, by column.

    old: the batch's row so far; None where the table has no such row. new: the batch in the
    capture, with crc_valid and held (undamaged in a .log file); None where the capture doesn't have
    the batch. At least one of the two is given.
    """
    vanished = _vanished(base_offset, old, new, moment)
    seen = None if old is None else old["first_seen"]
    truncated = removed = None
    if vanished is not None:
        at, is_removed = vanished
        truncated, removed = (None, at) if is_removed else (at, None)
    elif old is not None:
        truncated, removed = old["truncated_at"], old["removed_at"]
    return {
        "crc_valid": any(row is not None and row["crc_valid"] for row in (old, new)),
        "first_seen": _least(seen, None if new is None else moment.at),
        "last_seen": _last_seen(old, new, moment),
        "truncated_at": truncated,
        "removed_at": removed,
        **{
            name: _spans(
                [] if old is None else old[name],
                new is not None and (shown is None or new[shown]),
                moment,
            )
            for name, shown in HELD_BY.items()
        },
    }


def _last_seen(old: Row | None, new: Row | None, moment: FoldedCapture) -> datetime | None:
    """captured_at of the last capture with the batch; None while the newest capture has it. old,
    new: as in `folded`."""
    is_newest = moment.next_at is None
    if new is not None and is_newest:
        return None
    if old is not None and old["last_seen"] is None:
        return _greatest(old["first_seen"], moment.previous_at) if is_newest else None
    before: datetime | None = None if old is None else old["last_seen"]
    return before if new is None else _greatest(before, moment.at)


def _vanished(
    base_offset: int, old: Row | None, new: Row | None, moment: FoldedCapture
) -> _Vanished | None:
    """The capture in which the batch vanished; None where this capture doesn't show that the batch
    was absent. old, new: as in `folded`."""
    if new is None:
        return None if old is None else _vanished_now(base_offset, old, moment)
    return _vanished_before_it_was_known(base_offset, old, moment)


def _vanished_now(base_offset: int, old: Row, moment: FoldedCapture) -> _Vanished | None:
    """This capture, if it is the first one that shows that the batch is absent; else None."""
    known = _least(old["truncated_at"], old["removed_at"])
    is_first = known is None or moment.at < known
    was_there = old["first_seen"] < moment.at
    if not is_first or not was_there or may_hide(moment.uncovered, base_offset):
        return None
    return moment.at, base_offset < moment.covered_from


def _vanished_before_it_was_known(
    base_offset: int, old: Row | None, moment: FoldedCapture
) -> _Vanished | None:
    """For a capture that is now the first one with the batch: the next capture that shows that the
    batch is absent, if it comes before all others that have the batch. None otherwise."""
    until = None if old is None else old["first_seen"]
    if until is not None and moment.at >= until:
        return None
    for later in moment.later:
        is_between = until is None or later.at < until
        if is_between and not may_hide(later.uncovered, base_offset):
            return later.at, base_offset < later.covered_from
    return None


def _spans(old: Sequence[Mapping[str, Any]], is_held: bool, moment: FoldedCapture) -> _Spans:
    """The spans with this capture added, or without it where the capture doesn't count."""
    spans = [dict(span) for span in old]
    if not is_held:
        return _cut_out(spans, moment)
    if any(covers(span, moment.at) for span in spans):
        return spans
    return _with_moment(spans, moment)


def _with_moment(spans: _Spans, moment: FoldedCapture) -> _Spans:
    """The spans with this capture's time in them. The time joins the span that ends at the capture
    before, and the span that begins at the capture after."""
    before = [s for s in spans if s["to"] is not None and s["to"] == moment.previous_at]
    after = [s for s in spans if moment.next_at is not None and s["from"] == moment.next_at]
    begin = before[0]["from"] if before else moment.at
    end = after[0]["to"] if after else moment.at
    if moment.next_at is None:
        end = None
    others = [span for span in spans if span not in before and span not in after]
    return sorted([*others, {"from": begin, "to": end}], key=lambda span: span["from"])


def _cut_out(spans: _Spans, moment: FoldedCapture) -> _Spans:
    left: _Spans = []
    for span in spans:
        if not (span["from"] < moment.at and (span["to"] is None or moment.at < span["to"])):
            left.append(span)
            continue
        left.append({"from": span["from"], "to": _greatest(span["from"], moment.previous_at)})
        if moment.next_at is not None:
            left.append({"from": moment.next_at, "to": span["to"]})
    return left


def _least(*moments: datetime | None) -> datetime | None:
    return min((one for one in moments if one is not None), default=None)


def _greatest(*moments: datetime | None) -> datetime | None:
    return max((one for one in moments if one is not None), default=None)
