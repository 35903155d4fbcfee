"""Which node led at which time: a lane for each leader, from the start of an epoch to its last
record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from pipelines.html_text import Html
from pipelines.report import axis
from pipelines.report.lanes import Block, Fills, draw_lane
from pipelines.report.queries import MAX_LANES
from pipelines.report.source import Row, moment
from pipelines.report.svg import Scale, drawing
from pipelines.report.words import duration_text
from replica.words import counted, named, time_text

_HEAD, _BAR, _GAP = 18, 22, 10


def draw(identity: str, rows: Iterable[Row], fills: Fills) -> Html | None:
    """The drawing of rows of queries.leaders; None where no epoch has a time and a leader.

    Blocks above each other in two lanes show that two nodes wrote at the same time, each in its own
    epoch.
    """
    led: dict[int, list[Block]] = defaultdict(list)
    for row in rows:
        started, written = moment(row["started_at"]), moment(row["last_written"])
        if row["leader_id"] is not None and started is not None:
            fill = fills.of(row["leader_id"])
            block = _block(row, fill, started, max(started, written or started))
            led[row["leader_id"]].append(block)
    if not led:
        return None
    shown = sorted(led)[:MAX_LANES]
    scale = _scale(block for leader in shown for block in led[leader])
    parts: list[Html] = []
    y = 0
    for leader in shown:
        title = _title(leader, led[leader])
        parts.append(draw_lane(title, led[leader], scale, y, y + _HEAD, _BAR))
        y += _HEAD + _BAR + _GAP
    parts.append(axis.time_axis(scale, y))
    title = f"Leaders over time, {counted(len(shown), 'node')}"
    told = "; ".join(_title(leader, led[leader]) for leader in shown)
    return drawing(identity, title, f"{told}.", y + axis.HEIGHT, *parts)


def _block(row: Row, fill: str, started: datetime, written: datetime) -> Block:
    start, end = started.timestamp(), written.timestamp()
    epoch = row["epoch"]
    title = (
        f"epoch {epoch}, leader {row['leader_id']}: from {time_text(started)}, last record after "
        f"{duration_text(end - start)}"
    )
    return Block(start, end, fill, (f"epoch {epoch}", str(epoch)), title)


def _scale(blocks: Iterable[Block]) -> Scale:
    ends = [(block.start, block.end) for block in blocks]
    low, high = min(start for start, _ in ends), max(end for _, end in ends)
    return Scale(low, max(high, low + 1))


def _title(leader: int, blocks: list[Block]) -> str:
    epochs = [block.texts[-1] for block in blocks]
    return f"node {leader}, {named('epoch', epochs, limit=6)}"
