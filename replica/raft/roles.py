"""What a replica is in its epoch: one frozen value for each role, and what each would grant.

Kafka: UnattachedState, ProspectiveState, CandidateState, FollowerState, LeaderState, ResignedState,
EpochElection. What may follow what is in `transitions`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from replica.errors import KraftlakeError
from replica.history.watermark import leader_high_watermark, majority
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey
from replica.model.voters import Endpoints, Voter, VoterSet
from replica.raft.config import FOREVER


@dataclass(frozen=True, slots=True)
class Unattached:
    """election_deadline: ms; FOREVER for an observer, which stands in no election.

    leader_id: set where the leader is known by its id alone, without endpoints.
    """

    epoch: int
    election_deadline: int = FOREVER
    leader_id: int = NO_NODE
    voted: ReplicaKey | None = None

    @property
    def leader_endpoints(self) -> Endpoints:
        return ()

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        return grants_undecided(self.leader_id, self.voted, candidate, is_log_newer, pre_vote)


def grants_undecided(
    leader_id: int,
    voted: ReplicaKey | None,
    candidate: ReplicaKey,
    is_log_newer: bool,
    pre_vote: bool,
) -> bool:
    """The answer of a replica that follows nobody.

    is_log_newer: the candidate's log is at least as up to date. One vote in an epoch: who has it
    gets it again whatever its log, nobody else. A vote without directory is for all of that
    node. An epoch that has a leader elects no other. Pre-votes bind nothing.
    """
    if pre_vote:
        return is_log_newer
    if voted is not None:
        if voted.node_id != candidate.node_id:
            return False
        return voted.directory_id in (ZERO_UUID, candidate.directory_id)
    return leader_id == NO_NODE and is_log_newer


class IllegalVoteError(KraftlakeError):
    """An answer no correct voter gives: from a non-voter, or the opposite of an earlier one."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The answers of `voters` by node id."""

    voters: VoterSet
    granted: frozenset[int] = frozenset()
    rejected: frozenset[int] = frozenset()

    @property
    def is_won(self) -> bool:
        return len(self.granted) >= majority(len(self.voters))

    @property
    def is_lost(self) -> bool:
        """Even all open answers would make no majority."""
        return len(self.voters) - len(self.rejected) < majority(len(self.voters))

    @property
    def unanswered(self) -> tuple[Voter, ...]:
        answered = self.granted | self.rejected
        return tuple(voter for voter in self.voters if voter.key.node_id not in answered)

    def recorded(self, node_id: int, *, granted: bool) -> Tally:
        """A final answer. Raises IllegalVoteError where an earlier one was the opposite."""
        if node_id in (self.rejected if granted else self.granted):
            raise IllegalVoteError(f"node {node_id} changed its vote")
        return self.latest(node_id, granted=granted)

    def latest(self, node_id: int, *, granted: bool) -> Tally:
        """An answer that replaces an earlier one, as pre-votes may."""
        if self.voters.voter(node_id) is None:
            raise IllegalVoteError(f"node {node_id} answered but is no voter")
        if granted:
            return replace(
                self, granted=self.granted | {node_id}, rejected=self.rejected - {node_id}
            )
        return replace(self, rejected=self.rejected | {node_id}, granted=self.granted - {node_id})


@dataclass(frozen=True, slots=True)
class Prospective:
    """leader_id, leader_endpoints: of the leader it lost touch with and may go back to."""

    epoch: int
    tally: Tally
    election_deadline: int
    leader_id: int = NO_NODE
    leader_endpoints: Endpoints = ()
    voted: ReplicaKey | None = None

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        return grants_undecided(self.leader_id, self.voted, candidate, is_log_newer, pre_vote)


@dataclass(frozen=True, slots=True)
class Candidate:
    """voted: the local key. A lost election is waited out, so that others may try."""

    epoch: int
    tally: Tally
    election_deadline: int
    voted: ReplicaKey

    @property
    def leader_id(self) -> int:
        return NO_NODE

    @property
    def leader_endpoints(self) -> Endpoints:
        return ()

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        """Its vote is its own; a pre-vote costs nothing."""
        return pre_vote and is_log_newer


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
    refused. has_resigned: whether the leader has said that it leads no more, which in this
    epoch is for good. leader_watermark: the raw one the leader named last, None before it named
    one. update_voter_deadline: when to look whether the voter set knows this voter right.
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
        """After a good answer: the leader lives, and this replica will not help to replace it. An
        answer that was on its way when the leader resigned says nothing of that."""
        if self.has_resigned:
            return self
        return replace(self, fetch_deadline=fetch_deadline, has_fetched=True)

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        """No vote while the epoch has a leader; a pre-vote if that leader was never heard, or
        has resigned."""
        return pre_vote and is_log_newer and (self.has_resigned or not self.has_fetched)


CHECK_QUORUM_FACTOR = 1.5
"""A leader hears of a majority within this many fetch timeouts, or resigns."""


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
    """What a pending change of the quorum is; one at a time."""

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
    this epoch is on a majority, whatever it knew as a follower.

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
        """A fetch or snapshot fetch of any kind counts for check-quorum, of voters alone."""
        if not voters.is_voter(replica) or replica.node_id == self.local.node_id:
            return self
        heard = self.heard | {replica.node_id}
        needed = majority(len(voters)) - voters.is_voter(self.local)
        if len(heard & set(voters.ids)) < needed:
            return replace(self, heard=heard)
        deadline = check_quorum_deadline(voters, self.local, now_ms, fetch_timeout_ms)
        return replace(self, heard=frozenset(), check_quorum_deadline=deadline)

    def with_voters(self, voters: VoterSet) -> Leader:
        """Progress kept when voters get directory ids."""
        progress = dict(self.progress)
        for voter in voters:
            without = ReplicaKey(voter.key.node_id)
            if voter.key not in progress and without in progress:
                progress[voter.key] = progress.pop(without)
        return replace(self, progress=progress)

    def counted(self, voters: VoterSet, local_flushed_end: int) -> Leader:
        """With the high watermark that flushed ends on a majority give."""
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
        """The other voters, the most advanced first."""
        others = voters.others(self.local)
        ends = {v.key: self.progress.get(v.key, Progress()).log_end for v in others}
        return tuple(sorted(ends, key=lambda key: (-ends[key], key)))


def check_quorum_deadline(
    voters: VoterSet, local: ReplicaKey, now_ms: int, fetch_timeout_ms: int
) -> int:
    """FOREVER for the only voter."""
    if len(voters) == 1 and voters.is_voter(local):
        return FOREVER
    return now_ms + int(fetch_timeout_ms * CHECK_QUORUM_FACTOR)


@dataclass(frozen=True, slots=True)
class Resigned:
    """leader_id: the local node's, still the leader of record of its epoch.

    unacked: voters that have not answered EndQuorumEpoch. voted: nothing is kept of it, the leader
    says it all.
    """

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints
    election_deadline: int
    unacked: frozenset[int]
    preferred_successors: tuple[ReplicaKey, ...] = ()
    voted: ReplicaKey | None = None

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        """Its vote of this epoch went to itself; a pre-vote looks at the next."""
        return pre_vote and is_log_newer
