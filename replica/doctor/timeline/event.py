"""An event of a timeline."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Came(Enum):
    """How a broker came to be fenced or unfenced."""

    ASKED = "asked"
    """The broker was fenced, and had asked for its shutdown."""
    UNASKED = "unasked"
    """The broker was fenced, and had not asked for its shutdown: it had stopped some time before
    the fencing."""
    RESTARTED = "restarted"
    """The broker came back as a new process."""
    BACK = "back"
    """The broker came back as the same process."""


class Event(NamedTuple):
    """One event."""

    cluster_id: str | None
    at: int
    """The time in ms since 1970 (UTC)."""
    event: str
    """The kind of event, one of EVENTS in replica.doctor.timeline.events."""
    name: str
    """The node, broker, feature or other entity to which it happened."""
    detail: str
    """What happened, in one sentence."""
    cause: str | None
    """For an election the value of an ElectionCause; None for all other events."""
    offset: int
    """The offset of the record; for a snapshot the offset in its id; for a divergence the offset of
    the first entry that the branch lacks."""
    leader_epoch: int
    """The leader epoch of the record, the snapshot id or the entry that `offset` names."""
    nodes: tuple[int, ...]
    """The ids of the nodes whose logs hold the record, or whose directories show the event."""
    commitment: str | None
    """The commitment of the record, as gold.metadata_changes has it; None for a snapshot, and for
    elections without a winner."""
    came: Came | None = None
    """How a broker came to be fenced or unfenced; None for all other events. `detail` says the same
    in words."""
    parted: int | None = None
    """The offset at which the log with the event's record left the branch; None for a record of the
    branch."""

    @property
    def shown(self) -> tuple[object, ...]:
        """The values of COLUMNS."""
        return self[: len(COLUMNS)]


COLUMNS = Event._fields[:-2]
"""The fields of an event that `timeline` and `what-happened` print."""
