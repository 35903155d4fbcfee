"""Keeps the latest changes that may do harm although nothing is broken: deletions of topics, and
changes of configs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from replica.doctor.timeline.changes import LoggedChange
from replica.words import listed

MOST = 5
"""The maximum number of changes that are listed. If there are more, only deletions are listed."""
_DELETIONS = 3
_DELETED, _SET, _REMOVED = "topic_deleted", "config_set", "config_removed"
_SHOWN_NAMES = 3


@dataclass
class ChangeGroup:
    """Changes of one kind and time, such as those of one request. names: their entities."""

    first: LoggedChange
    names: list[str]

    @property
    def name(self) -> str:
        """The entities, as people read them."""
        return listed(self.names, limit=_SHOWN_NAMES)

    def has(self, change: LoggedChange) -> bool:
        """Whether a change belongs to this group."""
        first = self.first
        return (change.at, change.named.change.change) == (first.at, first.named.change.change)


@dataclass
class LatestChanges:
    """Takes the changes of the branch one by one, in the log's order."""

    _groups: deque[ChangeGroup] = field(default_factory=lambda: deque(maxlen=MOST + 1))
    _deletions: deque[ChangeGroup] = field(default_factory=lambda: deque(maxlen=_DELETIONS))

    def take(self, change: LoggedChange) -> None:
        """Take the next change. The configs of a topic that is deleted go with it, and count as no
        change of their own."""
        what = change.named.change.change
        if what not in (_DELETED, _SET, _REMOVED) or (what == _REMOVED and self._goes_with(change)):
            return
        if self._groups and self._groups[-1].has(change):
            self._groups[-1].names.append(change.named.name)
            return
        self._groups.append(group := ChangeGroup(change, [change.named.name]))
        if what == _DELETED:
            self._deletions.append(group)

    def _goes_with(self, change: LoggedChange) -> bool:
        return any(change.at == one.first.at for one in self._deletions)

    def since(self, at: int) -> Iterator[ChangeGroup]:
        """The groups from this time (ms since 1970) on; if there are many, only the latest
        deletions."""
        recent = [one for one in self._groups if one.first.at >= at]
        if len(recent) > MOST:
            recent = [one for one in self._deletions if one.first.at >= at]
        yield from recent
