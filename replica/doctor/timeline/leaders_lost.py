"""Finds which partitions lost their leader when a broker was fenced, began its shutdown, lost a log
directory or was unregistered: the controller writes both with the same time."""

from __future__ import annotations

from dataclasses import dataclass, field

from replica.doctor.timeline.branch import BranchTail
from replica.doctor.timeline.changes import LoggedChange
from replica.model.keys import NO_NODE
from replica.words import counted, listed

LEFT = "left "
"""The beginning of the text."""
_SHOWN = 3
"""The number of partitions that are named, those of Kafka's own topics last."""
_FENCED, _STOPS = "broker_fenced", "broker_shutdown_started"
_CAUSES = (_FENCED, _STOPS, "broker_directories_changed", "broker_unregistered")


@dataclass
class LeadersLost:
    """Takes the changes of a log one by one."""

    _names: dict[tuple[int, BranchTail | None, int], dict[str, None]] = field(default_factory=dict)
    """The names of the partitions, by the time, the tail that holds the record, and the former
    leader."""
    _stopping: dict[tuple[BranchTail | None, int], int] = field(default_factory=dict)
    """The time at which each broker began the shutdown that is under way."""
    _stopped: dict[tuple[int, BranchTail | None, int], int] = field(default_factory=dict)
    """The time at which a broker began its shutdown, by the time, tail and broker of its
    fencing."""

    def take(self, change: LoggedChange) -> None:
        """Take the next change."""
        write, what = change.named.write, change.named.change.change
        if what == _STOPS:
            self._stopping[change.tail, write.key] = change.at
        elif what == _FENCED and (began := self._stopping.pop((change.tail, write.key), None)):
            self._stopped[change.at, change.tail, write.key] = began
        if write.kind.table != "partitions" or write.old is None or write.new is None:
            return
        if write.new.leader == NO_NODE != write.old.leader:
            place = change.at, change.tail, write.old.leader
            self._names.setdefault(place, {})[change.named.name] = None

    def text(self, change: LoggedChange) -> str:
        """How many partitions lost their leader with a change of a broker, and which; "" where none
        did. A fencing after a shutdown in order has those of the shutdown. All changes must have
        been taken before."""
        what, broker = change.named.change.change, change.named.write.key
        if what not in _CAUSES:
            return ""
        place = change.at, change.tail, broker
        found = dict(self._names.get(place, {}))
        if what == _FENCED and place in self._stopped:
            found |= self._names.get((self._stopped[place], change.tail, broker), {})
        names = sorted(found, key=lambda name: (name.startswith("__"), name))
        if not names:
            return ""
        of = counted(len(names), "partition")
        return f"{LEFT}{of} without leader ({listed(names, limit=_SHOWN)})"
