"""Lanes of blocks, from which both timelines are drawn, and the fill of each leader's blocks. On
one page, equal fills stand for the same leader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipelines.html_text import Html, joined
from pipelines.report.svg import Scale, box, label, line, text
from replica.words import counted, named

_THINNEST = 0.6
"""The width below which blocks are joined with their neighbours, in percent of
the drawing's width."""


@dataclass(frozen=True)
class Block:
    """A block of a lane, such as the offsets of one leader's epochs in a replica's log."""

    start: float
    """The left edge on the drawing's scale."""
    end: float
    """The right edge on the drawing's scale."""
    fill: str
    """The block's fill: a class of the style sheet."""
    texts: tuple[str, ...]
    """Labels, the longest first."""
    title: str
    """The tooltip."""
    count: int = 1
    """The number of epochs that the block stands for."""
    is_below: bool = False
    """Whether the block is below the log start."""


def merged(blocks: Sequence[Block], scale: Scale) -> list[Block]:
    """The blocks in the order of their starts. Blocks that are too thin to see are joined with thin
    neighbours."""
    found: list[Block] = []
    for block in blocks:
        before = found[-1] if found else None
        if before is not None and _thin(before, scale) and _thin(block, scale):
            near = scale.x(block.start) - scale.x(before.end) < _THINNEST
            if near and before.is_below == block.is_below:
                found[-1] = _joined(before, block)
                continue
        found.append(block)
    return found


def _thin(block: Block, scale: Scale) -> bool:
    return block.count > 1 or scale.x(block.end) - scale.x(block.start) < _THINNEST


def _joined(a: Block, b: Block) -> Block:
    count = a.count + b.count
    first, last = a.title.split(" … ")[0], b.title
    texts = (counted(count, "epoch"), str(count))
    return replace(
        a, end=max(a.end, b.end), texts=texts, title=f"{first} … {last}", count=count, fill=MANY
    )


def draw_blocks(blocks: Iterable[Block], scale: Scale, y: float, height: float) -> Html:
    """A box for each block from y (pixels) on, with the longest label that fits."""
    parts = []
    for block in blocks:
        x, end = scale.x(block.start), scale.x(block.end)
        # an epoch of one record has no extent on the scale, but also gets a block
        width = max(end - x, _THINNEST)
        left = min(x, 100 - width)
        if block.is_below:  # its fill is translucent
            parts.append(box(left, y, width, height, "paper"))
        kind = f"block {block.fill}{' below' if block.is_below else ''}"
        parts.append(box(left, y, width, height, kind, block.title))
        parts.append(label(x, y + height / 2 + 4, end - x, block.texts))
    return joined(parts)


def draw_lane(
    title: str, blocks: Sequence[Block], scale: Scale, y: float, bar: float, height: float
) -> Html:
    """A lane: its title, and below it its blocks, on a line as long as the drawing. y, bar: the
    tops of the title and of the blocks, in pixels from the top. height: the height of the blocks in
    pixels."""
    middle = bar + height / 2
    return joined(
        (
            text(0, y + 12, title, class_="who"),
            line(0, middle, 100, middle, "track"),
            draw_blocks(merged(blocks, scale), scale, bar, height),
        )
    )


HUES = 6
"""The number of leaders that have a fill of their own in the style sheet. Every block also has a
text."""
OTHER, UNKNOWN, MANY = "other", "unknown", "many"
"""Fills that stand for no single leader: for leaders beyond the last hue, for an epoch without a
known leader, and for several epochs in one block."""


@dataclass(frozen=True)
class Key:
    """One entry of a drawing's legend."""

    fill: str
    text: str


class Fills:
    """The colours of one cluster's drawings. Each leader has its own colour, in the order of node
    ids. The leaders after the first HUES share a colour."""

    def __init__(self, leaders: Iterable[int | None]) -> None:
        """leaders: the leaders of all epochs that are drawn; None stands for an epoch whose leader
        is unknown."""
        found = set(leaders)
        self._has_unknown = None in found
        self._leaders = sorted(leader for leader in found if leader is not None)

    def of(self, leader: int | None) -> str:
        """The class in the style sheet for a leader. The leader is one of `leaders` in __init__."""
        if leader is None:
            return UNKNOWN
        place = self._leaders.index(leader)
        return f"hue{place}" if place < HUES else OTHER

    def key(self) -> tuple[Key, ...]:
        """The meaning of each fill, in the order of node ids."""
        own = [Key(self.of(leader), f"leader {leader}") for leader in self._leaders[:HUES]]
        others = [str(leader) for leader in self._leaders[HUES:]]
        if others:
            own.append(Key(OTHER, named("leader", others, limit=8)))
        if self._has_unknown:
            own.append(Key(UNKNOWN, "leader unknown"))
        return tuple(own)
