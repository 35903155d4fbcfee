"""Finds when each fenced broker was last alive before its fencing, and how it came back. A broker
stops before the controller fences it, and no log holds heartbeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from replica.doctor.check.behind import own_ends
from replica.doctor.check.examined import Examined
from replica.doctor.quorum.log_ends import OwnEnd
from replica.doctor.timeline.branch import BranchTail
from replica.doctor.timeline.changes import LoggedChange
from replica.doctor.timeline.event import Came
from replica.metadata.changes.brokers_seen import is_fencing, is_new_process, seen_by

_TOLD = ("broker_fenced", "broker_unfenced")


Told = tuple[str, Came | None]
"""The detail of an event, and how a broker came to be fenced or unfenced; ("", None) where there
is nothing to say."""


_Place = tuple[BranchTail | None, int]
"""The tail that holds a record, None for the branch, and the id of the broker that it is about."""


class _Seen(NamedTuple):
    at: int
    offset: int
    is_shutdown: bool


class _Fenced(NamedTuple):
    at: int
    registration: Mapping[str, Any]
    """The fields of the broker's registration before it was fenced."""


@dataclass
class Fencings:
    """Takes the changes of a log one by one. members: the directories. A broker's directory has the
    broker's own copy of the log."""

    members: Sequence[Examined]
    _seen: dict[_Place, _Seen] = field(default_factory=dict)
    """The last sign of life of each broker, on the branch and on each tail."""
    _fenced: dict[_Place, _Fenced] = field(default_factory=dict)
    """The last fencing of each broker, on the branch and on each tail."""
    _own_ends: Mapping[int, OwnEnd] = field(init=False)
    _told: dict[tuple[int, BranchTail | None, int], Told] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._own_ends = own_ends(self.members)

    def take(self, change: LoggedChange) -> None:
        """Take the next change."""
        write = change.named.write
        table, old, new = write.kind.table, write.old, write.new
        if table not in ("brokers", "partitions"):
            return
        if table == "brokers" and new is not None and is_fencing(old, new):
            place = change.offset, change.tail, write.key
            self._told.setdefault(place, self._before(write.key, change))
            self._fenced[change.tail, write.key] = _Fenced(change.at, old)
        elif table == "brokers" and old is not None and new is not None and is_fencing(new, old):
            place = change.offset, change.tail, write.key
            self._told.setdefault(place, self._back(write.key, change))
        is_shutdown = table == "brokers" and bool(new and new["inControlledShutdown"])
        for broker in seen_by(table, write.key, old, new):
            self._seen[change.tail, broker] = _Seen(change.at, change.offset, is_shutdown)

    def detail(self, change: LoggedChange) -> Told:
        """For a change that fenced a broker: when the broker was last alive. For a change that
        unfenced it: how the broker came back. ("", None) for other changes."""
        if change.named.change.change not in _TOLD:
            return "", None
        return self._told.get((change.offset, change.tail, change.named.write.key), ("", None))

    def _before(self, broker: int, change: LoggedChange) -> Told:
        # the changes of a tail come where it leaves the branch, so both know no later ones
        seen = self._seen.get((change.tail, broker)) or self._seen.get((None, broker))
        if seen is not None and seen.is_shutdown:
            return f"had asked for its shutdown{_before(seen.at, change)}", Came.ASKED
        told = "is seen nowhere in the log before"
        if seen is not None:
            told = (
                f"was last seen alive in the log{_before(seen.at, change)}, at offset {seen.offset}"
            )
        own = self._own_ends.get(broker)
        if own is None or own.at is None or own.offset >= change.offset:
            return told, Came.UNASKED
        is_later = seen is None or own.at >= seen.at
        ends = f"; its own copy of the log ends{_before(own.at, change)}" if is_later else ""
        return f"{told}{ends}", Came.UNASKED

    def _back(self, broker: int, change: LoggedChange) -> Told:
        fenced = self._fenced.get((change.tail, broker)) or self._fenced.get((None, broker))
        if fenced is None:
            return "", None
        is_new = is_new_process(fenced.registration, change.named.write.new)
        came = Came.RESTARTED if is_new else Came.BACK
        told = f"came back {'after' if is_new else 'without'} a restart"
        took = (change.at - fenced.at) / 1000
        return f"{told}, {took:.1f} s after it was fenced" if took >= 0 else told, came


def _before(at: int, change: LoggedChange) -> str:
    """A text such as ` 10.5 s before`; without the time if a clock was set back meanwhile."""
    return f" {(change.at - at) / 1000:.1f} s before" if at <= change.at else " before"
