"""The roles of a replica in an epoch: a frozen value for each, and the tally of votes.

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
class Unattached:
    """A replica that waits for a leader. election_deadline: FOREVER for an observer.

    leader_id: the leader of this epoch, whose endpoints are not known; NO_NODE where the leader is
    not known. voted: the replica that got the local vote in this epoch; None for no vote.
    """

    epoch: int
    election_deadline: int = FOREVER
    leader_id: int = NO_NODE
    voted: ReplicaKey | None = None
    leader_endpoints: ClassVar[Endpoints] = ()


class IllegalVoteError(KraftlakeError):
    """No correct voter gives this answer: its sender is no voter, or gave the opposite answer
    before."""


@dataclass(frozen=True, slots=True)
class VoteTally:
    """Which of the `voters` have granted a candidate their vote and which have refused it, by node
    id."""

    voters: VoterSet
    granted: frozenset[int] = frozenset()
    rejected: frozenset[int] = frozenset()

    @property
    def is_won(self) -> bool:
        return len(self.granted) >= majority(len(self.voters))

    @property
    def is_lost(self) -> bool:
        """Whether there is no majority even if all voters that are yet to answer grant."""
        return len(self.voters) - len(self.rejected) < majority(len(self.voters))

    @property
    def unanswered(self) -> tuple[Voter, ...]:
        answered = self.granted | self.rejected
        return tuple(voter for voter in self.voters if voter.key.node_id not in answered)

    def recorded(self, node_id: int, *, granted: bool) -> VoteTally:
        """The tally with an answer to a vote, which is final. Raises IllegalVoteError where the
        node has answered the opposite before, or is no voter."""
        if node_id in (self.rejected if granted else self.granted):
            raise IllegalVoteError(f"node {node_id} changed its vote")
        return self.latest(node_id, granted=granted)

    def latest(self, node_id: int, *, granted: bool) -> VoteTally:
        """The tally with an answer to a pre-vote, which replaces the node's earlier one. Raises
        IllegalVoteError where the node is no voter."""
        if self.voters.voter(node_id) is None:
            raise IllegalVoteError(f"node {node_id} answered but is no voter")
        if granted:
            return replace(
                self, granted=self.granted | {node_id}, rejected=self.rejected - {node_id}
            )
        return replace(self, rejected=self.rejected | {node_id}, granted=self.granted - {node_id})


@dataclass(frozen=True, slots=True)
class Prospective:
    """A voter that asks for pre-votes. leader_id, leader_endpoints: the leader that it followed
    before, and follows again if it doesn't win."""

    epoch: int
    tally: VoteTally
    election_deadline: int
    leader_id: int = NO_NODE
    leader_endpoints: Endpoints = ()
    voted: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class OlderLeader:
    """The leader of an older epoch than the local one, as an answer names it. This replica can't
    follow that leader, but can ask it for a pre-vote (see election.poll_prospective)."""

    epoch: int
    node_id: int
    endpoints: Endpoints


@dataclass(frozen=True, slots=True)
class Candidate:
    """A voter that asks for votes. voted: the local replica's own key, as a candidate votes for
    itself."""

    epoch: int
    tally: VoteTally
    election_deadline: int
    voted: ReplicaKey
    leader_id: ClassVar[int] = NO_NODE
    leader_endpoints: ClassVar[Endpoints] = ()


@dataclass(frozen=True, slots=True)
class SnapshotFetch:
    """A snapshot that is being fetched. The replica has its first `position` bytes. The host
    validates a complete snapshot; until the host has answered, nothing is fetched."""

    snapshot_id: OffsetAndEpoch
    position: int = 0
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class Follower:
    """A replica that fetches from the leader of its epoch.

    fetch_deadline: the time after which a voter starts a pre-vote; every good answer of the leader
    moves it further. has_fetched: whether this leader has given a good answer; from then on this
    replica refuses pre-votes. has_resigned: whether the leader said that it has resigned, which is
    final in this epoch. leader_watermark: the high watermark that the leader named last; None
    before it named one. update_voter_deadline: when to check whether the voter set has this voter's
    endpoints and versions right. has_updated_leader: whether this voter has told the leader its
    endpoints and versions, at kraft.version 0. fetching: the snapshot that is being fetched; None
    where there is none.
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
        """The role after a good answer of the leader. If the leader has resigned, nothing changes:
        it may have given this answer before it resigned."""
        if self.has_resigned:
            return self
        return replace(self, fetch_deadline=fetch_deadline, has_fetched=True)


OBSERVER_SESSION_MS = 300_000
"""A leader forgets an observer that hasn't fetched for this long
(LeaderState.OBSERVER_SESSION_TIMEOUT_MS)."""


MOST_OBSERVERS = 10_000
"""The largest number of observers whose progress a leader knows. Each directory id is another
observer, so a peer that names ever new directory ids could make a leader's work grow without
end."""


@dataclass(frozen=True, slots=True)
class ReplicaProgress:
    """How far a replica's log is, as its leader knows by the replica's fetches. log_end: exclusive.
    last_fetch: the time of the last fetch. last_fetch_leader_end: where the leader's log ended at
    that time (exclusive). last_caught_up: the last time at which the replica had all of the
    leader's log. Times are in ms of the leader's clock; a field is -1 while it is unknown."""

    log_end: int = 0
    last_fetch: int = -1
    last_fetch_leader_end: int = -1
    last_caught_up: int = -1

    def fetched(self, fetch_offset: int, leader_end: int, now_ms: int) -> ReplicaProgress:
        """The progress after a fetch at `fetch_offset`. If the replica has all of the leader's log,
        it is caught up now. If it has all that the leader's log held at the replica's fetch before,
        it was caught up at that time (KIP-836, LeaderState.ReplicaState.updateFollowerState)."""
        caught_up = self.last_caught_up
        if fetch_offset >= leader_end:
            caught_up = max(now_ms, caught_up)
        elif self.last_fetch_leader_end >= 0 and fetch_offset >= self.last_fetch_leader_end:
            caught_up = max(self.last_fetch, caught_up)
        return ReplicaProgress(fetch_offset, max(now_ms, self.last_fetch), leader_end, caught_up)


@dataclass(frozen=True, slots=True)
class PendingChange:
    """The change of the voters or of kraft.version that is not done; there is one at a time.

    While `last_offset` is None, it waits until the new voter answers ApiVersions. Then it waits
    until the record at `last_offset` is committed.

    deadline: when (ms) to stop waiting and answer REQUEST_TIMED_OUT. voter: the voter to be added.
    ack_when_committed: whether the request is answered at the commit, or already at the append.
    is_answered: whether the request has been answered.
    """

    request_id: Hashable
    deadline: int
    voter: Voter | None = None
    last_offset: int | None = None
    ack_when_committed: bool = True
    is_answered: bool = False


@dataclass(frozen=True, slots=True)
class Leader:
    """The leader of its epoch. epoch_start: the offset of the epoch's LeaderChange record.

    high_watermark: None until a majority holds a record of this epoch, whatever the replica knew as
    a follower. progress: how far the logs of voters and observers are; a voter has the key that the
    voter set gives it. heard: the node ids of the voters that have fetched since
    check_quorum_deadline was set. change: the pending change of the quorum. learned: the endpoints
    and versions that voters told this leader at kraft.version 0, by node id.
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

    def fetched(
        self,
        replica: ReplicaKey,
        fetch_offset: int,
        leader_end: int,
        voters: VoterSet,
        now_ms: int,
    ) -> Leader:
        """The role after a valid fetch. A voter's progress is kept by its key in the voter set,
        which may have no directory. The progress is in the order of the last fetches, and the first
        observer in it is forgotten where there are more than MOST_OBSERVERS."""
        voter = voters.voter_of(replica)
        key = replica if voter is None else voter.key
        progress = dict(self.progress)
        known = progress.pop(key, ReplicaProgress())
        progress[key] = known.fetched(fetch_offset, leader_end, now_ms)
        observers = len(progress) - sum(each in progress for each in voters.keys)
        if observers > MOST_OBSERVERS:
            del progress[next(each for each in progress if not voters.is_voter(each))]
        return replace(self, progress=progress)

    def with_voters(self, voters: VoterSet) -> Leader:
        """The role with a new voter set. Voters that get a directory id in it keep their
        progress."""
        renamed = {
            ReplicaKey(key.node_id): key
            for key in voters.keys
            if key not in self.progress and ReplicaKey(key.node_id) in self.progress
        }
        if not renamed:
            return self
        progress = {renamed.get(key, key): known for key, known in self.progress.items()}
        return replace(self, progress=progress)

    def counted(self, voters: VoterSet, local_flushed_end: int) -> Leader:
        """The role with the highest high watermark up to which a majority has flushed its log."""
        known = {key: self.progress.get(key) for key in voters.keys}
        ends = {key: progress.log_end for key, progress in known.items() if progress is not None}
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
        """The other voters, in descending order of their log ends."""
        others = voters.others(self.local)
        ends = {v.key: self.progress.get(v.key, ReplicaProgress()).log_end for v in others}
        return tuple(sorted(ends, key=lambda key: (-ends[key], key)))


@dataclass(frozen=True, slots=True)
class Resigned:
    """A leader that has resigned. leader_id: the local node id, because the epoch has no other
    leader.

    unacked: the node ids of the voters that have not answered EndQuorumEpoch. voted: None, because
    this replica voted for itself.
    """

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints
    election_deadline: int
    unacked: frozenset[int]
    preferred_successors: tuple[ReplicaKey, ...] = ()
    voted: ReplicaKey | None = None
