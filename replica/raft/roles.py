"""The roles of a replica in an epoch, each a frozen value, and the tally of votes.

Kafka: UnattachedState, ProspectiveState, CandidateState, FollowerState, LeaderState, ResignedState,
EpochElection. `transitions` says which role may follow which. Deadlines are in ms.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from replica.errors import KraftlakeError
from replica.history.watermark import leader_high_watermark
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Endpoints, Voter, VoterSet, majority
from replica.raft.config import FOREVER


@dataclass(frozen=True, slots=True)
class ReplicaProgress:
    """What the leader knows about one replica by its fetches. Times are in ms of the leader's
    clock. A field is -1 while its value is unknown.

    log_end: the end of the replica's log (exclusive).
    last_fetch: the time of the replica's last fetch.
    last_fetch_leader_end: the end of the leader's log at that time (exclusive).
    last_caught_up: the last time at which the replica had all of the leader's log.
    """

    log_end: int = 0
    last_fetch: int = -1
    last_fetch_leader_end: int = -1
    last_caught_up: int = -1

    def fetched(self, fetch_offset: int, leader_end: int, now_ms: int) -> ReplicaProgress:
        """The progress after a fetch at `fetch_offset`. If the replica has all of the leader's log,
        the replica is caught up now. If the replica has all that the leader's log held at the
        replica's previous fetch, the replica was caught up at the time of that fetch (KIP-836,
        LeaderState.ReplicaState.updateFollowerState)."""
        caught_up = self.last_caught_up
        if fetch_offset >= leader_end:
            caught_up = max(now_ms, caught_up)
        elif self.last_fetch_leader_end >= 0 and fetch_offset >= self.last_fetch_leader_end:
            caught_up = max(self.last_fetch, caught_up)
        return ReplicaProgress(fetch_offset, max(now_ms, self.last_fetch), leader_end, caught_up)


@dataclass(frozen=True, slots=True)
class Unattached:
    """A replica that waits for a leader."""

    epoch: int
    election_deadline: int = FOREVER
    """The time (ms) at which a voter starts a pre-vote; FOREVER for an observer."""
    leader_id: int = NO_NODE
    """The leader of this epoch, whose endpoints are unknown; NO_NODE if the leader is unknown."""
    voted: ReplicaKey | None = None
    """The replica for which this replica voted in this epoch; None for no vote."""
    leader_endpoints: ClassVar[Endpoints] = ()


class IllegalVoteError(KraftlakeError):
    """No correct voter gives this answer: its sender is not a voter, or gave the opposite answer
    before."""


@dataclass(frozen=True, slots=True)
class VoteTally:
    """Which of the `voters` have granted a candidate their vote and which have refused their vote,
    by node id."""

    voters: VoterSet
    granted: frozenset[int] = frozenset()
    rejected: frozenset[int] = frozenset()

    @property
    def is_won(self) -> bool:
        return len(self.granted) >= majority(len(self.voters))

    @property
    def is_lost(self) -> bool:
        """Whether no majority is possible any more, even if all voters that haven't answered yet
        grant."""
        return len(self.voters) - len(self.rejected) < majority(len(self.voters))

    @property
    def unanswered(self) -> tuple[Voter, ...]:
        answered = self.granted | self.rejected
        return tuple(voter for voter in self.voters if voter.key.node_id not in answered)

    def recorded(self, node_id: int, *, granted: bool) -> VoteTally:
        """The tally with an answer to a vote, which is final. Raises IllegalVoteError if the node
        has given the opposite answer before, or is not a voter."""
        if node_id in (self.rejected if granted else self.granted):
            raise IllegalVoteError(f"node {node_id} changed its vote")
        return self.latest(node_id, granted=granted)

    def latest(self, node_id: int, *, granted: bool) -> VoteTally:
        """The tally with an answer to a pre-vote, which replaces the node's earlier answer. Raises
        IllegalVoteError if the node is not a voter."""
        if self.voters.voter(node_id) is None:
            raise IllegalVoteError(f"node {node_id} answered but is no voter")
        if granted:
            return replace(
                self, granted=self.granted | {node_id}, rejected=self.rejected - {node_id}
            )
        return replace(self, rejected=self.rejected | {node_id}, granted=self.granted - {node_id})


@dataclass(frozen=True, slots=True)
class Prospective:
    """A voter that asks for pre-votes."""

    epoch: int
    tally: VoteTally
    election_deadline: int
    leader_id: int = NO_NODE
    """The leader of this epoch; NO_NODE if the leader is unknown. If the voter knows the leader's
    endpoints and doesn't win, the voter follows the leader again."""
    leader_endpoints: Endpoints = ()
    """The endpoints of the leader of this epoch; empty if the endpoints are unknown."""
    voted: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class OlderLeader:
    """A leader that an answer names, in an older epoch than the local epoch. This replica can't
    follow that leader, but can ask it for a pre-vote (election.poll_prospective)."""

    epoch: int
    node_id: int
    endpoints: Endpoints


@dataclass(frozen=True, slots=True)
class Candidate:
    """A voter that asks for votes."""

    epoch: int
    tally: VoteTally
    election_deadline: int
    voted: ReplicaKey
    """The local replica's own key, because a candidate votes for itself."""
    leader_id: ClassVar[int] = NO_NODE
    leader_endpoints: ClassVar[Endpoints] = ()


@dataclass(frozen=True, slots=True)
class SnapshotFetch:
    """A snapshot that is being fetched. The replica has the first `position` bytes of the snapshot.
    The host validates a complete snapshot, and the replica fetches nothing until the host has
    reported the result."""

    snapshot_id: OffsetAndEpoch
    position: int = 0
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class Follower:
    """A replica that fetches from the leader of its epoch."""

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints
    fetch_deadline: int
    """The time (ms) at which a voter starts a pre-vote. Every good answer of the leader moves this
    time on."""
    update_voter_deadline: int
    """For a voter: when (ms) to check whether the voter set has this voter's current endpoints and
    versions. For an observer that may join: when (ms) to ask to become a voter."""
    voted: ReplicaKey | None = None
    has_fetched: bool = False
    """Whether this leader has given a good answer. From then on this replica refuses pre-votes,
    until the leader resigns."""
    has_resigned: bool = False
    """Whether the leader said that it has resigned. A leader never leads again in the same
    epoch."""
    has_updated_leader: bool = False
    """Whether this voter has told the leader its endpoints and versions, at kraft.version 0."""
    leader_watermark: int | None = None
    """The high watermark (exclusive) that the leader named last; None if the leader has named
    none."""
    fetching: SnapshotFetch | None = None
    """The snapshot that is being fetched; None if no snapshot is being fetched."""

    def trusting(self, fetch_deadline: int) -> Follower:
        """The role after a good answer of the leader. If the leader has resigned, nothing changes,
        because the leader may have given this answer before it resigned."""
        if self.has_resigned:
            return self
        return replace(self, fetch_deadline=fetch_deadline, has_fetched=True)


@dataclass(frozen=True, slots=True)
class PendingChange:
    """The change of the voters or of kraft.version that is in progress. At most one change is in
    progress.

    While `last_offset` is None, the change waits until the new voter answers ApiVersions. After
    that, the change waits until the record at `last_offset` is committed.
    """

    request_id: Hashable
    deadline: int
    """When (ms) to stop waiting and answer REQUEST_TIMED_OUT."""
    voter: Voter | None = None
    """The voter to be added; None for any other change."""
    last_offset: int | None = None
    ack_when_committed: bool = True
    """Whether the request is answered at the commit; if False, the request is answered at the
    append."""
    is_answered: bool = False
    """Whether the request has been answered."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The leader of its epoch.

    epoch_start: the offset of the epoch's LeaderChange record.
    check_quorum_deadline: the time (ms) at which the leader resigns, unless a majority has fetched
        by then.
    begin_deadline: the time (ms) at which the leader sends BeginQuorumEpoch again.
    high_watermark: the high watermark (exclusive); None until a majority holds a record of this
        epoch, whatever the replica knew as a follower.
    progress: how far the logs of the voters that have fetched are, by their keys in the voter set.
        leader.work has the progress of observers.
    heard: the node ids of the voters that have fetched since check_quorum_deadline was set.
    change: the pending change of the voters or of kraft.version.
    learned: the endpoints and versions that voters sent to this leader at kraft.version 0, by node
        id.
    """

    epoch: int
    local: ReplicaKey
    leader_endpoints: Endpoints
    epoch_start: int
    check_quorum_deadline: int
    begin_deadline: int
    high_watermark: int | None = None
    progress: Mapping[ReplicaKey, ReplicaProgress] = field(default_factory=dict)
    heard: frozenset[int] = frozenset()
    change: PendingChange | None = None
    learned: Mapping[int, Voter] = field(default_factory=dict)
    resign_requested: bool = False
    voted: ReplicaKey | None = None

    @property
    def leader_id(self) -> int:
        return self.local.node_id

    def fetched(self, voter: ReplicaKey, fetch_offset: int, leader_end: int, now_ms: int) -> Leader:
        """The role after a valid fetch of the voter with this key."""
        known = self.progress.get(voter, ReplicaProgress())
        fetched = known.fetched(fetch_offset, leader_end, now_ms)
        return replace(self, progress={**self.progress, voter: fetched})

    def counted(self, voters: VoterSet, local_flushed_end: int) -> Leader:
        """The role with its high watermark moved to the highest offset up to which a majority has
        flushed its log."""
        known = {key: self.progress.get(key) for key in voters.keys}
        ends = {key: progress.log_end for key, progress in known.items() if progress is not None}
        local = voters.voter_of(self.local)
        if local is not None:
            ends[local.key] = local_flushed_end
        reached = leader_high_watermark(voters.keys, ends, self.epoch_start, self.high_watermark)
        return self if reached == self.high_watermark else replace(self, high_watermark=reached)

    def successors(self, voters: VoterSet) -> tuple[ReplicaKey, ...]:
        """The other voters, in descending order of their log ends."""
        others = voters.others(self.local)
        ends = {v.key: self.progress.get(v.key, ReplicaProgress()).log_end for v in others}
        return tuple(sorted(ends, key=lambda key: (-ends[key], key)))


@dataclass(frozen=True, slots=True)
class Resigned:
    """A leader that has resigned."""

    epoch: int
    leader_id: int
    """The local node id, because the epoch has no other leader."""
    leader_endpoints: Endpoints
    election_deadline: int
    unacked: frozenset[int]
    """The node ids of the voters that have not answered EndQuorumEpoch."""
    preferred_successors: tuple[ReplicaKey, ...] = ()
    voted: ReplicaKey | None = None
    """Always None: a replica that has led this epoch stores no vote for this epoch."""
