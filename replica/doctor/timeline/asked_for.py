"""Counts the changes that people ask for: of topics, replicas, configs, ACLs, quotas and
credentials."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from replica.words import counted, listed

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
_NOUNS = {
    "topic": "topic", "config": "config", "acl": "ACL", "scram": "credential", "quota": "quota",
    "replicas": "replica",
}  # fmt: skip


@dataclass
class AskedForChanges:
    """Counts changes, which it takes one by one in the log's order. All times are in ms since 1970
    (UTC)."""

    _times: dict[str, array[int]] = field(default_factory=dict)
    """The times of the changes in ms since 1970, by the kind of entity that changed."""

    def take(self, what: str, at: int) -> None:
        """Take the next change. what: the name of the change, such as config_set."""
        self._times.setdefault(what.partition("_")[0], array("q")).append(at)

    def since(self, at: int) -> Counter[str]:
        """The number of changes from this time on, by the kind of entity, such as `config`."""
        found = {kind: sum(one >= at for one in times) for kind, times in self._times.items()}
        return Counter({kind: count for kind, count in found.items() if count})

    def patterns(self, end: int) -> Iterator[str]:
        """Patterns for `timeline --event`, such as `config_*`, of the changes in the last day
        before `end`."""
        for kind, _ in self.since(end - DAY_MS).most_common():
            yield f"{kind}_*"

    def earlier(self, end: int) -> int:
        """The number of changes before the last day before `end`, of the kinds with changes in this
        day (see `patterns`)."""
        recent = self.since(end - DAY_MS)
        return sum(len(self._times[kind]) - count for kind, count in recent.items())

    def recently(self, end: int) -> Iterator[str]:
        """Clauses about the last hour and the last day before `end`, the log's last time. If all
        changes are in the last hour, only the clause about the hour. Without changes, no clause."""
        hour, day = self.since(end - HOUR_MS), self.since(end - DAY_MS)
        if hour:
            yield f"{kinds_text(hour)} in the log's last hour"
        if day != hour:
            yield f"{kinds_text(day)} in the last 24 hours"


def kinds_text(counts: Counter[str]) -> str:
    """A text such as `3 changes (2 of topics, 1 of configs)`."""
    of = [f"{count} of {_NOUNS[kind]}s" for kind, count in counts.most_common()]
    return f"{counted(counts.total(), 'change')} ({listed(of)})"
