"""Defines a replica in the ranking of a recovery plan: its log beside the log to go on with."""

from __future__ import annotations

from dataclasses import dataclass

from replica.history.commitment import Losses
from replica.history.divergence import Relation
from replica.history.log import ReplicaLog
from replica.history.ranges import Ranges
from replica.model.epochs import OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class RankedReplica:
    """A replica in the ranking."""

    log: ReplicaLog
    is_voter: bool | None
    """Whether the replica is a voter; None where the voters are unknown."""
    relation: Relation | None
    """The relation of its log to the winner's; None for the winner itself."""
    at_risk: Ranges
    """The offsets of its entries that the winner lacks, ascending."""
    lost: Losses
    """The number of the entries at risk, by commitment."""
    truncates_to: int | None = None
    """The end (exclusive) of its log after it has followed the winner; None where it truncates
    nothing."""
    snapshot_id: OffsetAndEpoch | None = None
    """The winner's snapshot with which it has to begin anew instead; None where it hasn't to."""
    may_lose: Ranges = ()
    """The offsets of its entries that may be lost because another voter wins, which lacks them;
    ascending."""
