"""A lane for each replica: the epochs in its log by offset, its lost records, and its snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.html_text import Html, joined
from pipelines.report import axis
from pipelines.report.divergences import replica_of
from pipelines.report.evidence import Evidence
from pipelines.report.lanes import Block, Fills, draw_lane
from pipelines.report.losses import LostRecordCount, When
from pipelines.report.queries import MAX_LANES
from pipelines.report.source import Row
from pipelines.report.svg import CROSS, DIAMOND, Scale, beside, box, drawing, marker
from pipelines.report.words import span
from replica.words import counted

_HEAD, _BAR, _MARKS, _GAP = 18, 24, 18, 12


@dataclass(frozen=True)
class Lane:
    """The drawing's lane for one replica: its epochs along the offsets."""

    is_voter: bool
    title: str
    """The name of the replica."""
    end: int
    """The log end offset of the replica, exclusive."""
    blocks: tuple[Block, ...]
    losses: tuple[LostRecordCount, ...]
    snapshots: tuple[tuple[int, str, bool], ...]
    """(end offset, text, whether the snapshot is invalid)."""


def lane(row: Row, title: str, evidence: Evidence, fills: Fills, *, is_voter: bool) -> Lane:
    """The lane of a row of queries.replicas. evidence: has the epochs, losses and snapshots of all
    replicas."""
    replica, start = replica_of(row), row["log_start_offset"]
    epochs, snapshots = (
        [one for one in figure.rows if replica_of(one) == replica]
        for figure in (evidence.epochs, evidence.snapshots)
    )
    return Lane(
        is_voter,
        title,
        row["log_end_offset"],
        tuple(block for one in epochs for block in _blocks(one, start, fills)),
        tuple(loss for loss in evidence.losses if replica in loss.replicas),
        tuple(_snapshot(one) for one in snapshots),
    )


def _blocks(row: Row, log_start: int, fills: Fills) -> Iterator[Block]:
    """The blocks of an epoch: two where the log start is inside the epoch."""
    start, end = row["start_offset"], row["end_offset"]
    if start < log_start:
        yield _block(row, start, min(end, log_start), fills, is_below=True)
    if end > log_start or start >= log_start:
        yield _block(row, max(start, log_start), end, fills, is_below=False)


def _block(row: Row, start: int, end: int, fills: Fills, *, is_below: bool) -> Block:
    epoch, leader = row["epoch"], row["leader_id"]
    led = "leader unknown" if leader is None else f"leader {leader}"
    source = " (its record isn't in this log)" if row["is_told_elsewhere"] else ""
    below = ", below the log start" if is_below else ""
    return Block(
        start,
        end,
        fills.of(leader),
        (f"epoch {epoch}, {led}", f"epoch {epoch}", str(epoch)),
        f"epoch {epoch}, {led}{source}: {span(start, end)}{below}",
        is_below=is_below,
    )


def _snapshot(row: Row) -> tuple[int, str, bool]:
    name = f"snapshot {row['end_offset']}-{row['epoch']}: {row['verdict']}"
    return row["end_offset"], name, row["verdict"] == "invalid"


def draw(identity: str, lanes: Sequence[Lane]) -> Html:
    """The drawing of all lanes on one axis of offsets. identity: the beginning of the drawing's ids
    in the page."""
    shown = _shown(lanes)
    lost_ends = (loss.first + loss.records for one in shown for loss in one.losses)
    scale = Scale(0, max([1, *(one.end for one in shown), *lost_ends]))
    parts: list[Html] = []
    y = 0
    for one in shown:
        parts.append(_draw(one, scale, y))
        y += _HEAD + _BAR + (_MARKS if one.losses else 0) + _GAP
    parts.append(axis.offset_axis(scale, y))
    told = "; ".join(one.title for one in shown)
    title = f"Leader epochs in the logs of {counted(len(shown), 'node')}, by offset"
    return drawing(identity, title, f"{told}.", y + axis.HEIGHT, *parts)


def _shown(lanes: Sequence[Lane]) -> list[Lane]:
    """At most MAX_LANES lanes, in the given order. Replicas that lost something are preferred, then
    voters."""
    matter = sorted(lanes, key=lambda one: (not one.losses, not one.is_voter))[:MAX_LANES]
    return [one for one in lanes if one in matter]


def _draw(one: Lane, scale: Scale, y: float) -> Html:
    bar = y + _HEAD
    parts = [draw_lane(one.title, one.blocks, scale, y, bar, _BAR)]
    parts += [_loss(loss, scale, bar) for loss in one.losses]
    for end, name, invalid in one.snapshots:
        shape, class_ = (CROSS, "cross") if invalid else (DIAMOND, "snapshot")
        parts.append(marker(scale.x(end), bar + _BAR, shape, class_, name))
    return joined(parts)


def _loss(loss: LostRecordCount, scale: Scale, bar: float) -> Html:
    """The mark of a loss below the bar, with a text."""
    x = scale.x(loss.first)
    width = max(scale.x(loss.first + loss.records) - x, 0.5)
    told = {
        When.GONE: f"{loss.records} truncated",
        When.PENDING: f"{loss.records} to be truncated",
        When.UNSEEN: f"{loss.records} unaccounted for",
    }[loss.when]
    title = f"{told}, from offset {loss.first} on"
    below = bar + _BAR + 6
    lost = box(x, below, width, 8, "lost", title)
    return lost + beside(x, width, below + 9, f"{told} from {loss.first}", "told")
