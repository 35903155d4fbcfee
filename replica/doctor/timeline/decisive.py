"""Chooses the few events of a timeline by which a person understands an incident."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from replica.doctor.timeline.causes import ElectionCause
from replica.doctor.timeline.details import BY_NEW_PROCESS
from replica.doctor.timeline.events import DIVERGENCE, ELECTION, TRUNCATION, WENT_BACK, Event
from replica.doctor.timeline.partition_events import UNCLEAN

_ALWAYS = (
    DIVERGENCE, TRUNCATION, WENT_BACK, UNCLEAN, "zk_migration_state_changed", "broker_unregistered",
    "broker_directories_changed",
)  # fmt: skip
FENCED, _UNFENCED = "broker_fenced", "broker_unfenced"
_AFTER_THE_FIRST = ("voters_changed", "metadata_version_changed")


def decisive(events: Iterable[Event], other_disks: Collection[int] = ()) -> Sequence[Event]:
    """Of the events, in their order: elections but the first, changes of the voters and of
    metadata.version but the first, brokers that were fenced and came back, their directories,
    unclean elections, divergences, truncations and disks that went back. other_disks: the voters
    whose nodes have another disk now; such a node was started again with it."""
    started = {f"controller {node}" for node in other_disks}
    seen: set[str] = set()
    fenced: set[str] = set()
    found = []
    for event in events:
        what = event.event
        if what == ELECTION:
            is_decisive = event.cause != ElectionCause.FIRST.value
        elif what in _AFTER_THE_FIRST:
            is_decisive = what in seen
            seen.add(what)
        elif what == "controller_registered":
            is_decisive = event.name in started and event.detail.startswith(BY_NEW_PROCESS)
        elif what == _UNFENCED:
            is_decisive = event.name in fenced
            fenced.discard(event.name)
        else:
            is_decisive = what in _ALWAYS or what == FENCED
            if what == FENCED:
                fenced.add(event.name)
        if is_decisive:
            found.append(event)
    return found
