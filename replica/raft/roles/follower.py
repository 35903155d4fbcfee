"""Follower: fetches from the leader of its epoch, records or a snapshot."""

from __future__ import annotations

from dataclasses import dataclass, replace

from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoints


@dataclass(frozen=True, slots=True)
class SnapshotFetch:
    """A snapshot being fetched; `position` bytes of it are here. When it is complete the host
    validates it, and nothing is fetched until it has said what came of it."""

    snapshot_id: OffsetAndEpoch
    position: int = 0
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class Follower:
    """fetch_deadline: ms, pushed on by every good answer; a voter then doubts its leader.

    has_fetched: whether any answer of the leader in this epoch was good; from then on pre-votes are
    refused (D03). has_resigned: whether the leader has said that it leads no more, which in this
    epoch is for good. leader_watermark: the raw one the leader named last, None before it named
    one. update_voter_deadline: when to look whether the voter set knows this voter right (H20).
    has_updated_leader: whether it told this leader about itself, at kraft.version 0.
    """

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints
    fetch_deadline: int
    update_voter_deadline: int
    voted: ReplicaKey | None = None
    has_fetched: bool = False
    has_resigned: bool = False
    has_updated_leader: bool = False
    leader_watermark: int | None = None
    fetching: SnapshotFetch | None = None

    def trusting(self, fetch_deadline: int) -> Follower:
        """After a good answer: the leader lives, and this replica will not help to replace it
        (D03). One that was on its way when the leader resigned says nothing of that."""
        if self.has_resigned:
            return self
        return replace(self, fetch_deadline=fetch_deadline, has_fetched=True)

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        """No vote while the epoch has a leader; a pre-vote if that leader was never heard (D04), or
        has resigned."""
        return pre_vote and is_log_newer and (self.has_resigned or not self.has_fetched)
