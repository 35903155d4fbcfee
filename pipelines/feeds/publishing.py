"""Publishes the change data feed of a table to a target. No change is published twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, Protocol

from pipelines.feeds.change_feed import ChangeFeed
from pipelines.feeds.values import FeedPosition, FeedProgress, RowChange
from replica.errors import UsageError

Start = Literal["snapshot", "latest"]
"""Where the first run begins: with all rows of the table, or with the next change."""


class FeedTarget(Protocol):
    """A place to publish to, which also keeps the progress. If it can, it keeps the progress in the
    same transaction as the changes."""

    @property
    def name(self) -> str:
        """The name of the target in messages, without secrets."""
        ...

    def progress(self) -> FeedProgress | None:
        """The progress that was kept last; None where there is none."""
        ...

    def keep(self, position: FeedPosition) -> None:
        """Keeps the position from which publishing continues."""
        ...

    def publish(self, start: FeedPosition, changes: Iterable[RowChange]) -> int:
        """Publishes the changes of one version from `start` on, and keeps the next version as the
        position. changes: all changes of the version from ordinal 0 on, in order; they can be read
        once. Returns the number of changes that were published."""
        ...


def publish(
    feed: ChangeFeed,
    target: FeedTarget,
    report: Callable[[FeedPosition, int], None],
    *,
    start: Start = "snapshot",
    restart: bool = False,
    wait: Callable[[], object] | None = None,
) -> None:
    """Publish the changes that the target lacks, up to the table's newest version.

    report: is called for each version with the number of changes that were published. restart:
    whether to begin at `start` even where there is progress. wait: is called when everything is
    published, and then publishing continues; where it is None, publishing ends. Raises UsageError
    where the target has changes of another table, or of a version that doesn't exist.
    """
    position = None if restart else _kept(feed, target)
    if position is None:
        position = _first(feed, start)
        target.keep(position)
    while True:
        newest = feed.newest()
        while position.version <= newest:
            read = feed.snapshot if position.is_snapshot else feed.changes
            report(position, target.publish(position, read(position.version)))
            position = position.following
        if wait is None:
            return
        wait()


def _kept(feed: ChangeFeed, target: FeedTarget) -> FeedPosition | None:
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


def _first(feed: ChangeFeed, start: Start) -> FeedPosition:
    newest = feed.newest()
    return FeedPosition(newest + 1) if start == "latest" else FeedPosition(newest, is_snapshot=True)
