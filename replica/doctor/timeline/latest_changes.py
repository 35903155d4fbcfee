"""Keeps the latest changes that may do harm although nothing is broken: of topics, configs, ACLs,
credentials and quotas."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from replica.doctor.timeline.changes import LoggedChange
from replica.words import listed

MOST = 5
"""The maximum number of changes that are listed: the latest deletions, then the latest others."""
_DELETIONS, _WITHDRAWALS = 3, 2
_CREATED, _REMOVED = "topic_created", "config_removed"
TOPIC_REPLACED = ("topic_deleted", "topic_recreated")
"""The changes after which a topic's records are gone, or a topic of the same name has none of
them."""
ACCESS_REMOVED = ("acl_deleted", "scram_credential_removed")
"""The changes that take access away from a user."""
_SHOWN_NAMES = 3


@dataclass
class ChangeGroup:
    """Changes of one kind that belong together: those of one time, as of one request, or topics
    that were created one after another. names: the entities that changed. last_at: the time of the
    last change, in ms since 1970 (UTC)."""

    first: LoggedChange
    names: list[str]
    last_at: int

    @property
    def name(self) -> str:
        """The names of the entities as a list for people. A long list ends with the number of the
        others."""
        return listed(self.names, limit=_SHOWN_NAMES)

    def has(self, change: LoggedChange) -> bool:
        """Whether a change belongs to this group."""
        what = change.named.change.change
        is_near = change.at == self.first.at or what == _CREATED
        return is_near and what == self.first.named.change.change

    @property
    def span_ms(self) -> int:
        """The time (ms) from the first change to the last; 0 where a clock was set back between."""
        return max(self.last_at - self.first.at, 0)


@dataclass
class LatestChanges:
    """Takes the changes of the branch one by one, in the log's order."""

    _groups: deque[ChangeGroup] = field(default_factory=lambda: deque(maxlen=MOST))
    _deletions: deque[ChangeGroup] = field(default_factory=lambda: deque(maxlen=_DELETIONS))
    _withdrawals: deque[ChangeGroup] = field(default_factory=lambda: deque(maxlen=_WITHDRAWALS))

    def take(self, change: LoggedChange) -> None:
        """Take the next change of OF_HISTORY. A config that is removed at the time of a topic's
        deletion isn't counted as a change."""
        what = change.named.change.change
        if what == _REMOVED and self._goes_with(change):
            return
        if self._groups and self._groups[-1].has(change):
            self._groups[-1].names.append(change.named.name)
            self._groups[-1].last_at = change.at
            return
        self._groups.append(group := ChangeGroup(change, [change.named.name], change.at))
        if what in TOPIC_REPLACED:
            self._deletions.append(group)
        if what in ACCESS_REMOVED:
            self._withdrawals.append(group)

    def _goes_with(self, change: LoggedChange) -> bool:
        return any(change.at == one.first.at for one in self._deletions)

    def since(self, at: int) -> Iterator[ChangeGroup]:
        """The groups from this time (ms since 1970) on; if there are many, the latest deletions (of
        topics, then of access) and the latest others."""
        deletions = [one for one in (*self._deletions, *self._withdrawals) if one.last_at >= at]
        kept = {id(one) for one in deletions}
        others = [one for one in self._groups if one.last_at >= at and id(one) not in kept]
        others = others[max(len(others) + len(deletions) - MOST, 0) :]
        yield from sorted((*deletions, *others), key=lambda one: one.first.offset)
