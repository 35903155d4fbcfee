"""Rows of bronze.log_batches as an earlier schema version has them, told as this one does: pure.

In version 1 `last_seen` and spans ended at the newest capture, where they are open now, and a row
said nothing of captures that had a batch damaged, or in a .log.deleted file only. Those are
worked out: a batch was there from its first capture on until the first that showed it gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pipelines.bronze.remaining import Moment, Row, spans_over


def told_anew(row: Mapping[str, Any], moments: Sequence[Moment]) -> Row:
    """The row with this version's last_seen, in_log, undamaged and seen; of one that has them
    already, the same.

    moments: all of the row's replica, in the order of their time. Where damage may hide the batch,
    a capture between two that have it is taken for one that has not.
    """
    if row.get("seen") is not None and row.get("undamaged") is not None:
        spans = {name: _within(moments, row[name]) for name in ("in_log", "undamaged", "seen")}
        seen = {moment.at for moment in moments if moment.has_in(row["seen"])}
    else:
        seen = _seen(row, moments)
        undamaged = _undamaged(row, moments, seen)
        spans = {
            "in_log": _within(moments, row["in_log"]),
            "undamaged": spans_over(moments, lambda moment: moment.at in undamaged),
            "seen": spans_over(moments, lambda moment: moment.at in seen),
        }
    newest = moments[-1].at
    return {**row, **spans, "last_seen": None if newest in seen else max(seen)}


def _within(moments: Sequence[Moment], spans: Sequence[Mapping[str, Any]]) -> list[Row]:
    return spans_over(moments, lambda moment: moment.has_in(spans))


def _seen(row: Mapping[str, Any], moments: Sequence[Moment]) -> set[datetime]:
    """captured_at of those that have the batch."""
    last = row["last_seen"] or moments[-1].at
    gone = row["truncated_at"] or row["removed_at"] or last
    until = min(gone, last)
    return {
        moment.at
        for moment in moments
        if moment.at in (row["first_seen"], last)
        or moment.has_in(row["in_log"])
        or (row["first_seen"] < moment.at < until and moment.shows_absence_of(row["base_offset"]))
    }


def _undamaged(
    row: Mapping[str, Any], moments: Sequence[Moment], seen: set[datetime]
) -> set[datetime]:
    """Of those that have it, the ones with right bytes: in the log, or below the log's start, where
    only a .log.deleted file still has it; all of them where none of these is left to explain that
    it was undamaged."""
    if not row["crc_valid"]:
        return set()
    found = {
        moment.at
        for moment in moments
        if moment.at in seen
        and (moment.has_in(row["in_log"]) or row["base_offset"] < moment.log_start_offset)
    }
    return found or seen
