"""Leader: appends, counts how far the others are, and gives up when it hears of too few.

Kafka: LeaderState.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from replica.history.watermark import leader_high_watermark, majority
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoints, Voter, VoterSet
from replica.raft.config import FOREVER

CHECK_QUORUM_FACTOR = 1.5
"""A leader hears of a majority within this many fetch timeouts, or resigns (E01)."""

OBSERVER_SESSION_MS = 300_000
"""An observer not heard of for so long is forgotten (LeaderState.OBSERVER_SESSION_TIMEOUT_MS)."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replica is: end offset (exclusive) and leader times in ms, -1 while unknown."""

    log_end: int = 0
    last_fetch: int = -1
    last_fetch_leader_end: int = -1
    last_caught_up: int = -1

    def fetched(self, fetch_offset: int, leader_end: int, now_ms: int) -> Progress:
        """After a fetch at `fetch_offset`; caught up now, or as of its fetch before (KIP-836)."""
        caught_up = self.last_caught_up
        if fetch_offset >= leader_end:
            caught_up = max(now_ms, caught_up)
        elif self.last_fetch_leader_end >= 0 and fetch_offset >= self.last_fetch_leader_end:
            caught_up = max(self.last_fetch, caught_up)
        return Progress(fetch_offset, max(now_ms, self.last_fetch), leader_end, caught_up)


class ChangeKind(Enum):
    """What a pending change of the quorum is; one at a time (H03)."""

    ADD_VOTER = "add voter"
    REMOVE_VOTER = "remove voter"
    UPGRADE = "upgrade kraft.version"


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change that waits: for ApiVersions while `last_offset` is None, then for its commit.

    ack_when_committed: whether the request is answered at the commit, or at the append already.
    is_answered: whether it has been.
    """

    kind: ChangeKind
    request_id: Hashable
    deadline: int
    voter: Voter | None = None
    last_offset: int | None = None
    ack_when_committed: bool = True
    is_answered: bool = False


@dataclass(frozen=True, slots=True)
class Leader:
    """epoch_start: the offset of its LeaderChange record. high_watermark: None until a record of
    this epoch is on a majority, whatever it knew as a follower (F04).

    progress: voters by their keys, and observers heard of. heard: voters that fetched since
    check_quorum_deadline was set. learned: what voters of kraft.version 0 told about themselves.
    """

    epoch: int
    local: ReplicaKey
    endpoints: Endpoints
    epoch_start: int
    check_quorum_deadline: int
    begin_deadline: int
    high_watermark: int | None = None
    progress: Mapping[ReplicaKey, Progress] = field(default_factory=dict)
    heard: frozenset[int] = frozenset()
    change: PendingChange | None = None
    learned: Mapping[int, Voter] = field(default_factory=dict)
    resign_requested: bool = False
    voted: ReplicaKey | None = None

    @property
    def leader_id(self) -> int:
        return self.local.node_id

    @property
    def leader_endpoints(self) -> Endpoints:
        return self.endpoints

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        return False

    def fetched(
        self,
        replica: ReplicaKey,
        fetch_offset: int,
        leader_end: int,
        voters: VoterSet,
        now_ms: int,
    ) -> Leader:
        """After a valid fetch; voters are kept by the key of the voter set, which may lack a
        directory, observers by their own."""
        voter = voters.voter_of(replica)
        key = replica if voter is None else voter.key
        known = self.progress.get(key, Progress())
        progress = dict(self.progress)
        progress[key] = known.fetched(fetch_offset, leader_end, now_ms)
        return replace(self, progress=progress)

    def heard_of(
        self, replica: ReplicaKey, voters: VoterSet, now_ms: int, fetch_timeout_ms: int
    ) -> Leader:
        """A fetch or snapshot fetch of any kind counts for check-quorum, of voters alone (E02)."""
        if not voters.is_voter(replica) or replica.node_id == self.local.node_id:
            return self
        heard = self.heard | {replica.node_id}
        needed = majority(len(voters)) - voters.is_voter(self.local)
        if len(heard & set(voters.ids)) < needed:
            return replace(self, heard=heard)
        deadline = check_quorum_deadline(voters, self.local, now_ms, fetch_timeout_ms)
        return replace(self, heard=frozenset(), check_quorum_deadline=deadline)

    def with_voters(self, voters: VoterSet) -> Leader:
        """Progress kept when voters get directory ids (F12)."""
        progress = dict(self.progress)
        for voter in voters:
            without = ReplicaKey(voter.key.node_id)
            if voter.key not in progress and without in progress:
                progress[voter.key] = progress.pop(without)
        return replace(self, progress=progress)

    def counted(self, voters: VoterSet, local_flushed_end: int) -> Leader:
        """With the high watermark that flushed ends on a majority give (F01-F10)."""
        ends = {key: progress.log_end for key, progress in self.progress.items()}
        local = voters.voter_of(self.local)
        if local is not None:
            ends[local.key] = local_flushed_end
        reached = leader_high_watermark(voters.keys, ends, self.epoch_start, self.high_watermark)
        return self if reached == self.high_watermark else replace(self, high_watermark=reached)

    def without_idle_observers(self, voters: VoterSet, now_ms: int) -> Leader:
        kept = {
            key: progress
            for key, progress in self.progress.items()
            if voters.is_voter(key) or now_ms - progress.last_fetch < OBSERVER_SESSION_MS
        }
        return self if len(kept) == len(self.progress) else replace(self, progress=kept)

    def successors(self, voters: VoterSet) -> tuple[ReplicaKey, ...]:
        """The other voters, the most advanced first (E19)."""
        others = voters.others(self.local)
        ends = {v.key: self.progress.get(v.key, Progress()).log_end for v in others}
        return tuple(sorted(ends, key=lambda key: (-ends[key], key)))


def check_quorum_deadline(
    voters: VoterSet, local: ReplicaKey, now_ms: int, fetch_timeout_ms: int
) -> int:
    """FOREVER for the only voter (E05)."""
    if len(voters) == 1 and voters.is_voter(local):
        return FOREVER
    return now_ms + int(fetch_timeout_ms * CHECK_QUORUM_FACTOR)
