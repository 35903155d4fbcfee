"""From a table's feed to a target. What was published before is not published again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, Protocol

from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.values import Position, Progress, Unit
from replica.errors import UsageError

Start = Literal["snapshot", "latest"]
"""Where the first run begins: with all rows that the table holds, or with the next change."""


class Target(Protocol):
    """Where changes go. A target keeps the progress, together with the changes in one step where it
    can."""

    @property
    def name(self) -> str:
        """The target's name for people, without secrets."""
        ...

    def progress(self) -> Progress | None:
        """The progress that was kept last; None where none was."""
        ...

    def keep(self, position: Position) -> None:
        """Keeps the position that comes next."""
        ...

    def publish(self, unit: Unit) -> int:
        """Takes the changes of the unit from its start on, and keeps that the version behind it is
        next. Returns the number of changes."""
        ...


def publish(
    feed: ChangeFeed,
    target: Target,
    report: Callable[[Position, int], None],
    *,
    start: Start = "snapshot",
    restart: bool = False,
    wait: Callable[[], object] | None = None,
) -> None:
    """Publish what the target lacks, up to the table's newest version.

    report: told of each version what was published of it. restart: begin at `start` also where
    there is progress. wait: called whenever all is published, to go on afterwards; None: to end
    then. UsageError: the target was fed from another table, or from a version that isn't there.
    """
    position = None if restart else _kept(feed, target)
    if position is None:
        position = _first(feed, start)
        target.keep(position)
    while True:
        for unit in _units(feed, position):
            report(unit.start, target.publish(unit))
            position = unit.start.following
        if wait is None:
            return
        wait()


def _kept(feed: ChangeFeed, target: Target) -> Position | None:
    kept = target.progress()
    if kept is None:
        return None
    if (kept.table, kept.table_id) != (feed.feed.name, feed.table_id):
        other = kept.table if kept.table != feed.feed.name else f"{kept.table} of another lake"
        raise UsageError(
            f"{target.name} was fed from {other} (Delta table {kept.table_id}): name another "
            "target, or begin anew with --restart"
        )
    newest = feed.newest()
    if kept.position.version > newest + 1:
        raise UsageError(
            f"{target.name} has version {kept.position.version - 1} of {kept.table}, but the lake "
            f"is at {newest}, as if it came from a backup: begin anew with --restart"
        )
    return kept.position


def _first(feed: ChangeFeed, start: Start) -> Position:
    newest = feed.newest()
    return Position(newest + 1) if start == "latest" else Position(newest, is_snapshot=True)


def _units(feed: ChangeFeed, position: Position) -> Iterator[Unit]:
    newest = feed.newest()
    while position.version <= newest:
        read = feed.snapshot if position.is_snapshot else feed.changes
        yield Unit(position, read(position.version))
        position = position.following
