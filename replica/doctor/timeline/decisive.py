"""Chooses the few events of a timeline by which a person understands an incident."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from replica.doctor.timeline.causes import ElectionCause
from replica.doctor.timeline.details import FROM_NOTHING, RESTARTED, WITH_NEW, WITHOUT
from replica.doctor.timeline.event import Came, Event
from replica.doctor.timeline.events import ELECTION, UNWON, WENT_BACK
from replica.doctor.timeline.partition_events import NEW_DIRECTORY, UNCLEAN
from replica.doctor.timeline.tails import DIVERGENCE, HISTORIES_PART, TRUNCATION

FENCED, UNFENCED = "broker_fenced", "broker_unfenced"
REGISTERED = ("controller_registered", "broker_registered")
FEATURES = (
    "metadata_version_changed", "feature_level_changed", "feature_removed",
    "kraft_version_changed",
)  # fmt: skip
MAY_LOSE_RECORDS = (DIVERGENCE, HISTORIES_PART, TRUNCATION, WENT_BACK, UNCLEAN, NEW_DIRECTORY)
_ALWAYS = (
    *MAY_LOSE_RECORDS, UNWON, FENCED, "zk_migration_state_changed", "broker_unregistered",
    "controller_unregistered", "broker_directories_changed",
)  # fmt: skip
_UNTIL = {"broker_registered": UNFENCED, "broker_shutdown_started": FENCED}
"""Steps of a broker's start and stop, each with the next step. The event of a step is left out if
the broker has reached the next step, because the next step implies it."""


def decisive(events: Iterable[Event]) -> Sequence[Event]:
    """The few of `events` by which a person understands an incident, in the same order.

    They are elections except the first, elections that nobody won, changes of the voters, changes
    of features after the cluster was formatted, changes of a migration from ZooKeeper, restarts of
    controllers, fencings and returns of brokers, brokers that are stuck in a start or a stop, nodes
    that were unregistered, changes of brokers' directories, registrations with other directories
    among them, unclean elections, leaders in new directories, divergences, two histories,
    truncations, and disks that went back.
    """
    events = [*events]
    birth = next((one for one in events if _is_birth(one)), None)
    newest = {(one.event, one.name): number for number, one in enumerate(events)}
    found = []
    for number, event in enumerate(events):
        what = event.event
        if what == ELECTION:
            is_decisive = event.cause != ElectionCause.FIRST.value
        elif what == "voters_changed":
            is_decisive = not event.detail.startswith("now ")
        elif what in FEATURES:
            is_decisive = birth is None or (event.at > birth.at and event.offset > birth.offset)
        elif what == UNFENCED:
            is_decisive = event.came in (Came.RESTARTED, Came.BACK)
        elif what in (*REGISTERED, *_UNTIL):
            is_stuck = newest.get((_UNTIL.get(what, ""), event.name), -1) < number
            is_again = what not in REGISTERED or event.detail.startswith(RESTARTED)
            is_decisive = (is_again and is_stuck) or has_other_directories(event)
        else:
            is_decisive = what in _ALWAYS
        if is_decisive:
            found.append(event)
    return found


def has_other_directories(event: Event) -> bool:
    """Whether a broker registered with other log directories than before."""
    return event.event in REGISTERED and (WITHOUT in event.detail or WITH_NEW in event.detail)


def _is_birth(event: Event) -> bool:
    """Whether a cluster was formatted with this change: it got its first metadata.version."""
    is_first = event.detail.startswith(FROM_NOTHING)
    return event.event == "metadata_version_changed" and is_first
