"""Finds partitions whose replicas are on other brokers than before, in the changes of a log.

A reassignment that needs no copy is complete at once. Every other reassignment first adds replicas,
and is found when it ends. A cancelled reassignment isn't found, because it changes nothing. A new
order of the same brokers is found too, because another broker becomes the preferred leader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from replica.doctor.timeline.asked_for import HOUR_MS
from replica.doctor.timeline.branch import BranchTail
from replica.doctor.timeline.changes import LoggedChange
from replica.doctor.timeline.latest_changes import MOST
from replica.metadata.image.partition import Partition, moved, topic_of
from replica.words import counted, listed

REPLICAS = "replicas_changed"
_ENDED = ("reassignment_completed", "reassignment_cancelled")


@dataclass
class Reassigned:
    """Partitions of one topic whose replicas changed within an hour."""

    at: int
    """The time of the first change, in ms since 1970 (UTC)."""
    offset: int
    """The offset of the first change's record."""
    leader_epoch: int
    commitment: str
    tail: BranchTail | None
    """The tail that holds the records; None for records of the branch."""
    first: str
    """The name of the first partition."""
    change: str
    """The brokers of the first partition before and after its change, such as
    `11 and 12 -> 12 and 13`."""
    last_at: int
    """The time of the last change, in ms since 1970 (UTC)."""
    partitions: set[str]
    """The names of the partitions."""
    event: str = REPLICAS
    """The kind of event."""

    @property
    def name(self) -> str:
        """What changed, as people read it."""
        is_one = len(self.partitions) == 1
        return f"partition {self.first}" if is_one else f"topic {topic_of(self.first)}"

    @property
    def detail(self) -> str:
        """Which brokers had the replicas, and which have them now."""
        if len(self.partitions) == 1:
            return self.change
        of_all = counted(len(self.partitions), "partition")
        return f"{of_all}, such as {self.first}: {self.change}"


@dataclass
class Reassignments:
    """The ends of reassignments, in groups by topic. `take` takes the changes of a log one by one,
    in the order of the log."""

    _found: list[Reassigned] = field(default_factory=list)
    _newest: dict[tuple[str, int, BranchTail | None], Reassigned] = field(default_factory=dict)
    """The newest group for each topic, leader epoch and tail."""

    def take(self, change: LoggedChange) -> bool:
        """Take the next change. Returns whether it is the end of a reassignment."""
        what, write = change.named.change.change, change.named.write
        if what != REPLICAS and what not in _ENDED:
            return False
        if (brokers := _brokers(what, write.old, write.new)) is None:
            return False
        name = change.named.name
        key = topic_of(name), change.leader_epoch, change.tail
        known = self._newest.get(key)
        is_near = known is not None and change.at <= known.at + HOUR_MS
        if known is not None and is_near and name not in known.partitions:
            known.partitions.add(name)
            known.last_at = max(known.last_at, change.at)
            return True
        text = " -> ".join(listed([*map(str, each)]) for each in brokers)
        place = change.at, change.offset, change.leader_epoch, change.commitment, change.tail
        self._newest[key] = Reassigned(*place, name, text, change.at, {name})
        self._found.append(self._newest[key])
        return True

    def events(self) -> Iterator[Reassigned]:
        """The groups, in the order of their first records."""
        return iter(self._found)

    def latest(self, since: int) -> Sequence[Reassigned]:
        """The groups from this time (ms since 1970) on that lie on the branch; if there are many,
        the latest ones."""
        recent = [one for one in self._found if one.last_at >= since and one.tail is None]
        return recent[-MOST:]


def _brokers(
    what: str, old: Partition, new: Partition
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The brokers before a reassignment and after it, if it ends with this change and has moved a
    replica. The record that ends a reassignment may make two changes; the result is None for the
    change of the replicas, so that the reassignment counts once."""
    is_ending = bool(old.adding_replicas or old.removing_replicas)
    return moved(old.hosts, new.hosts) if is_ending == (what in _ENDED) else None
