"""A controller whose registration is newer than its disk.

Each process of a controller registers once, with a new incarnation id, and only after it has
fetched from a leader and read the log up to its high watermark (Kafka:
ControllerRegistrationManager). The leader that wrote the registration had led for a while by then.
So a process that reached this leader had fetched what the leader held at the beginning of its
epoch, and the records that were written some seconds before. This holds in the epoch in which the
disk's log ends, and in every later one. A log that ends before these records is not the one on
which the process ran: the disk was restored or replaced, or it was copied before that. A process
that crashed at once after it had registered, while it still fetched a long log, leaves the same
files.

Only times that the same leader wrote are compared: the clocks of two leaders may differ.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from replica.doctor.quorum.log_ends import LogEnd, newest_end
from replica.history.log import ReplicaLog
from replica.model.keys import ReplicaKey
from replica.words import duration_text, up_to

REGISTERING_MS = 3_000
"""The longest time (ms) of a registration from the controller's process into the log."""


@dataclass(frozen=True, slots=True)
class RegisteredLater:
    """A registration that a controller's process made after it had read more of the log than its
    disk now has."""

    end: int
    """The end (exclusive) of the log on the controller's disk."""
    offset: int
    """The offset of the registration in the newest log."""
    epoch: int
    """The epoch of the registration, in which the controller's process ran."""
    lacking_ms: int
    """How long (ms) before the registration the same leader wrote the first of its records that the
    disk lacks."""

    def __str__(self) -> str:
        return (
            f"its log goes {up_to(self.end)}, and its process registered at offset {self.offset}, "
            f"{duration_text(self.lacking_ms)} after a record that it lacks and had read by then"
        )


class Registration(NamedTuple):
    """The registration of a controller in a log."""

    node_id: int
    offset: int
    epoch: int


class LogsBehind(NamedTuple):
    """The newest log, and the ends of the logs that may be shorter than the logs on which their
    controllers once ran."""

    newest: ReplicaLog
    ends: tuple[LogEnd, ...]

    @property
    def first(self) -> int:
        """The first offset that at least one of these logs lacks."""
        return min(one.end for one in self.ends)

    def registered_later(
        self, registrations: Iterable[Registration], time_of: Callable[[int], int | None]
    ) -> dict[ReplicaKey, RegisteredLater]:
        """The registrations that controllers made when they had more records than these logs have,
        by replica. time_of: gives the time, in ms since 1970 (UTC), of the batch of the newest log
        that holds an offset; None if the time is unknown."""
        found = {}
        for one in registrations:
            batch = self.newest.batch_at(one.offset)
            if batch is None or batch.epoch != one.epoch:
                continue
            for own in self.ends:
                if own.key.node_id == one.node_id and own.end <= one.offset:
                    lacking_ms = self._lacking_ms(own, one, time_of)
                    if lacking_ms is not None and lacking_ms >= REGISTERING_MS:
                        found[own.key] = RegisteredLater(own.end, one.offset, one.epoch, lacking_ms)
        return found

    def _lacking_ms(
        self, own: LogEnd, registered: Registration, time_of: Callable[[int], int | None]
    ) -> int | None:
        """The value of RegisteredLater.lacking_ms; None if it isn't known, or if a clock was set
        back."""
        if self.newest.batch_at(own.end) is None:
            return None
        batches = self.newest.batches
        first = bisect_left(batches, own.end, key=attrgetter("last_offset"))
        lacked = next(
            max(one.base_offset, own.end)
            for one in islice(batches, first, None)
            if one.epoch == registered.epoch
        )
        then, now = time_of(lacked), time_of(registered.offset)
        if then is None or now is None or (registered.epoch == own.epoch and then < own.at_ms):
            return None
        return now - then


def logs_behind(logs: Sequence[ReplicaLog], ends: Sequence[LogEnd]) -> LogsBehind | None:
    """The newest log, and the logs that end before it and agree with it up to their end; None if
    there are no such logs. Two groups of logs are left out: those of a node with several disks,
    because nobody knows on which disk its process ran; and logs that diverge from the newest log,
    because other rules report them."""
    newest = newest_end(ends)
    if newest is None:
        return None
    by_key = {log.key: log for log in logs}
    disks = Counter(log.key.node_id for log in logs)
    behind = tuple(
        one
        for one in ends
        if one.is_last
        and disks[one.key.node_id] == 1
        and one.end < newest.end
        and by_key[newest.key].batch_at(one.end - 1) in by_key[one.key].batches[-1:]
    )
    return LogsBehind(by_key[newest.key], behind) if behind else None
