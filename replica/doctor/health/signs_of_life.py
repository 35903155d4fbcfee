"""Finds when a fenced broker was last alive, by the log.

A controller fences a broker after broker.session.timeout.ms without heartbeats (9 s by default), so
the broker had stopped earlier. No log holds heartbeats, but some changes are made only because a
live broker asks for them, and a broker writes its own copy of the log only while it is alive.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from replica.doctor.health.cluster import Beginning, Cluster
from replica.doctor.health.rewound import VisibleChange
from replica.metadata.changes.brokers_seen import is_fencing, seen_by

SESSION_MS = 9_000
"""Kafka's default of broker.session.timeout.ms."""
FENCED_LATER = "by default a broker is fenced 9 s or more after its last heartbeat"
"""Why the effects of a broker's stop may have begun before the broker was fenced. A log doesn't
hold broker.session.timeout.ms, and Kafka looks for silent brokers a few times per timeout."""


class LastSign(NamedTuple):
    """What is known about the stop of a broker.

    fenced: the record that fenced it.
    seen: the last record before it for which the broker must have been alive; None if none is
        known.
    is_own_end: whether `seen` is the last record in the broker's own copy of the log.
    """

    fenced: Beginning
    seen: Beginning | None
    is_own_end: bool = False

    @property
    def is_after_a_step_back(self) -> bool:
        """Whether a clock was set back between the records `seen` and `fenced`, so that their times
        can't be compared."""
        fenced, seen = self.fenced.at, None if self.seen is None else self.seen.at
        return fenced is not None and seen is not None and seen > fenced


class SignsBackwards:
    """Takes the changes that led to a state, newest first, and finds what is known about the stop
    of each fenced broker."""

    def __init__(self, cluster: Cluster) -> None:
        brokers = dict(cluster.values("brokers"))
        self._asked = {key for key, fields in brokers.items() if fields["fenced"]}
        self._own_ends = cluster.own_ends
        self._now: dict[str, dict[Any, Any]] = {
            "brokers": brokers,
            "partitions": dict(cluster.partitions) if self._asked else {},
        }
        self.found: dict[int, LastSign] = {}

    @property
    def is_complete(self) -> bool:
        """Whether older changes can add nothing."""
        return not self._asked

    def take_back(self, step: VisibleChange) -> None:
        here = Beginning(step.offset, step.at)
        for table, key, before in step.before if self._asked else ():
            if table not in self._now:
                continue
            after = self._now[table].get(key)
            self._now[table][key] = before
            if table == "brokers" and key in self._asked and after and is_fencing(before, after):
                if before["inControlledShutdown"]:
                    self._asked.discard(key)
                elif key not in self.found:
                    self.found[key] = self._before(key, here)
                continue
            for broker in seen_by(table, key, before, after):
                self._see(broker, here)

    def _before(self, broker: int, fenced: Beginning) -> LastSign:
        """What the broker's own copy of the log shows. The last record of this copy counts only if
        it is older than the record that fenced the broker. A later record shows nothing about the
        stop before the fencing."""
        end = self._own_ends.get(broker)
        is_sign = end is not None and end.offset < fenced.offset
        return LastSign(fenced, Beginning(*end) if end is not None and is_sign else None, is_sign)

    def _see(self, broker: int, here: Beginning) -> None:
        known = self.found.get(broker)
        if broker in self._asked and known is not None and here.offset < known.fenced.offset:
            if known.seen is None or here.offset > known.seen.offset:
                self.found[broker] = LastSign(known.fenced, here)
            self._asked.discard(broker)
