"""Votes and pre-votes: how a quorum without a leader elects one (KIP-595, KIP-996).

Kafka: KafkaRaftClient.handleVoteRequest, handleVoteResponse, pollUnattached, pollProspective,
pollCandidate; scenarios C and D of tests/scenarios.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ReplicaKey
from replica.raft.config import FOREVER
from replica.raft.core import Core
from replica.raft.epoch_bounds import MAX_EPOCH
from replica.raft.follower.fetch_requests import awaits_flush, fetch_from_any
from replica.raft.leader.leading import lead
from replica.raft.messages import VoteRequest, VoteResponse
from replica.raft.mistakes import Mistake
from replica.raft.request_checks import is_for_other_voter, is_non_voter, refuse_non_voter
from replica.raft.roles import (
    Candidate,
    Follower,
    IllegalVoteError,
    Leader,
    Prospective,
    Resigned,
    Unattached,
    VoteTally,
)
from replica.raft.transitions import Role, TransitionCause


def handle_vote_request(core: Core, request_id: Hashable, request: VoteRequest) -> None:
    """Grant the vote or refuse it. In both cases a newer epoch is adopted, if elections can explain
    it and the sender may be a voter."""
    if _stands_again(core, request):
        _refuse_again(core, request_id, request)
        return
    mistake = _mistake_in(core, request)
    if mistake is not None:
        core.refuse_illegal(request_id, request, mistake)
        return
    if request.epoch < core.role.epoch:
        core.refuse(request_id, request, ErrorCode.FENCED_LEADER_EPOCH)
        return
    position = election_order(OffsetAndEpoch(request.end_offset, request.last_epoch))
    local = election_order(core.log.position)
    sender = request.candidate.node_id
    if is_non_voter(core, sender, has_newer_log=position > local):
        refuse_non_voter(core, request_id, request)
        return
    if not core.is_plausible_epoch(request.epoch):
        core.refuse_illegal(request_id, request, Mistake.UNEXPLAINED_EPOCH)
        return
    if request.epoch > core.role.epoch:
        core.detach(request.epoch)
    if is_for_other_voter(core, request.voter):
        core.refuse(request_id, request, ErrorCode.INVALID_VOTER_KEY)
        return
    granted = core.local is not None and grants(
        core.role, request.candidate, is_log_newer=position >= local, pre_vote=request.pre_vote
    )
    if granted and not request.pre_vote:
        _remember_vote(core, request)
    core.reply(request_id, core.signed(VoteResponse(granted=granted)))


def grants(role: Role, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
    """Whether a replica in this role grants the candidate its vote. A granted pre-vote obliges the
    replica to nothing.

    is_log_newer: whether the candidate's log is at least as up to date as the local log.
    """
    match role:
        case Unattached() | Prospective():
            return grants_undecided(role.leader_id, role.voted, candidate, is_log_newer, pre_vote)
        case Follower():
            # the epoch has a leader; a pre-vote is granted if that leader never answered this
            # replica, or has resigned
            return pre_vote and is_log_newer and (role.has_resigned or not role.has_fetched)
        case Candidate() | Resigned():
            # the replica has voted for itself in this epoch
            return pre_vote and is_log_newer
        case Leader():
            return False


def grants_undecided(
    leader_id: int,
    voted: ReplicaKey | None,
    candidate: ReplicaKey,
    is_log_newer: bool,
    pre_vote: bool,
) -> bool:
    """Whether a replica that follows no leader grants this candidate its vote. is_log_newer: as in
    `grants`.

    A pre-vote depends only on is_log_newer. For a vote: a replica has one vote in an epoch. A
    candidate that already has this vote gets it again, whatever its log holds; no other candidate
    gets it. A vote for a node without a directory counts for every directory of that node. In an
    epoch that has a leader, no other replica can be elected.
    """
    if pre_vote:
        return is_log_newer
    if voted is not None:
        return voted.matches(candidate)
    return leader_id == NO_NODE and is_log_newer


def handle_vote_response(core: Core, node_id: int, response: VoteResponse) -> bool:
    """Count a voter's answer. Returns False for an answer after which the voter gets no request for
    a while."""
    role = core.role
    if isinstance(role, Candidate | Prospective):
        if response.error is not ErrorCode.NONE:
            return False
        try:
            _count(core, role, node_id, granted=response.granted)
        except IllegalVoteError:
            if core.epochs.older_leader is not None and core.epochs.older_leader.node_id == node_id:
                return False
            core.blame(Mistake.VOTE_ANSWER, node_id, VoteResponse)
            return False
    return True


def handle_pre_vote_unsupported(core: Core) -> None:
    """Stand in an election without a pre-vote, because a voter doesn't support pre-votes."""
    if isinstance(core.role, Prospective):
        _stand(core, TransitionCause.PRE_VOTE_UNSUPPORTED)


def poll_unattached(core: Core, role: Unattached) -> int:
    """Ask other nodes who leads, one after the other. A voter does so until its election timeout.
    Returns when (ms) the next step is due.

    Kafka's observer asks the bootstrap servers alone, and finds no leader once none of these
    servers is a voter. An observer of this core also asks the voters that its log names.
    """
    if not core.may_stand:
        named = core.log.voters.ids if core.log.voter_sets else ()
        return fetch_from_any(core, [node_id for node_id in named if node_id != core.local_id])
    if core.shutdown_deadline is not None:
        return core.shutdown_deadline
    if role.election_deadline <= core.now:
        become_prospective(core)
        return core.now
    if role.election_deadline == FOREVER:
        # this replica was an observer, with no timeout, until a fetched snapshot made it a voter
        role = replace(role, election_deadline=core.election_timeout())
        core.keep(role)
    return min(role.election_deadline, fetch_from_any(core))


def poll_prospective(core: Core, role: Prospective) -> int:
    """Ask all voters for a pre-vote until the election timeout, then go back to the role that this
    replica had before. Returns when (ms) the next step is due.

    This replica also asks the leader of an older epoch, if an answer has named such a leader. That
    leader may lead voters that the local log doesn't name yet: all voters may have been replaced
    while this replica was away. The leader grants no pre-vote, but adopts this replica's epoch. The
    quorum then elects a leader in a newer epoch, which this replica can follow. Kafka's voter asks
    only the voters of its log.
    """
    if core.shutdown_deadline is not None:
        return core.shutdown_deadline
    if role.election_deadline <= core.now or not core.may_stand:
        _go_back(core, role, TransitionCause.TIMEOUT)
        return core.now
    return min(role.election_deadline, _ask(core, role), _ask_older_leader(core, role))


def poll_candidate(core: Core, role: Candidate) -> int:
    """Ask all voters for their vote until the election timeout, then begin the next pre-vote. After
    a lost election, wait for the timeout and ask nobody. Returns when (ms) the next step is due."""
    if core.shutdown_deadline is not None:
        return min(core.shutdown_deadline, _ask(core, role))
    if role.election_deadline <= core.now:
        become_prospective(core)
        return core.now
    return min(role.election_deadline, FOREVER if role.tally.is_lost else _ask(core, role))


def become_prospective(core: Core) -> None:
    """Start a pre-vote in the same epoch. The replica still knows this epoch's leader and its own
    vote."""
    assert core.local_key is not None
    assert core.may_stand, "an observer stands in no election"
    role = core.role
    prospective = Prospective(
        role.epoch,
        own_tally(core),
        core.election_timeout(),
        role.leader_id,
        role.leader_endpoints,
        role.voted,
    )
    core.become(TransitionCause.TIMEOUT, prospective)
    _advance(core)


def _stand(core: Core, cause: TransitionCause) -> None:
    """Become a candidate in the next epoch and vote for itself. If the epoch is MAX_EPOCH already,
    follow the former leader again or become unattached."""
    assert core.local_key is not None
    role = core.role
    if role.epoch >= MAX_EPOCH:  # there is no higher epoch
        assert isinstance(role, Prospective)
        _go_back(core, role, TransitionCause.ELECTION_LOST)
        return
    epoch = role.epoch + 1
    candidate = Candidate(epoch, own_tally(core), core.election_timeout(), core.local_key)
    core.become(cause, candidate)
    _advance(core)


def own_tally(core: Core) -> VoteTally:
    """A new tally. If the local replica is a voter, the tally holds the local vote."""
    own = frozenset({core.local_id}) if core.is_voter else frozenset()
    return VoteTally(core.log.voters, own)


def _advance(core: Core) -> None:
    """Become a candidate if a majority granted the pre-vote, or the leader if a majority granted
    the vote."""
    role = core.role
    if isinstance(role, Prospective) and role.tally.is_won:
        _stand(core, TransitionCause.MAJORITY_GRANTED)
    elif isinstance(role, Candidate) and role.tally.is_won:
        lead(core, role)


def _count(core: Core, role: Candidate | Prospective, node_id: int, *, granted: bool) -> None:
    if isinstance(role, Candidate):
        core.keep(replace(role, tally=role.tally.recorded(node_id, granted=granted)))
    else:
        role = replace(role, tally=role.tally.latest(node_id, granted=granted))
        core.keep(role)
        if role.tally.is_lost:
            _go_back(core, role, TransitionCause.ELECTION_LOST)
    _advance(core)


def _go_back(core: Core, role: Prospective, cause: TransitionCause) -> None:
    """Follow the leader that this replica followed before, if its endpoints are known; else become
    unattached."""
    if role.leader_id != NO_NODE and role.leader_endpoints:
        follower = core.follower(role.epoch, role.leader_id, role.leader_endpoints, role.voted)
        core.become(cause, follower)
    else:
        deadline = core.election_timeout()
        core.become(cause, Unattached(role.epoch, deadline, role.leader_id, role.voted))


def _ask(core: Core, role: Candidate | Prospective) -> int:
    """Ask the voters that have not answered. Returns when (ms) to ask again.

    The requests wait until the log is flushed. A voter decides by the log end in the request, and
    its vote stays valid after the candidate crashes, so a crash must not make the candidate's log
    shorter. Kafka's followers flush with each append.
    """
    if awaits_flush(core):
        return FOREVER
    request = _vote_request(core, role)
    deadline = FOREVER
    for voter in role.tally.unanswered:
        asked = replace(request, voter=voter.key)
        deadline = min(deadline, core.send(voter.key.node_id, voter.endpoints, asked))
    return deadline


def _ask_older_leader(core: Core, role: Prospective) -> int:
    """Ask the leader of an older epoch, if that leader is not among the voters. Returns when (ms)
    to ask again."""
    leader = core.epochs.older_leader
    if leader is None or role.tally.voters.voter(leader.node_id) is not None or awaits_flush(core):
        return FOREVER
    return core.send(leader.node_id, leader.endpoints, _vote_request(core, role))


def _vote_request(core: Core, role: Candidate | Prospective) -> VoteRequest:
    """The request for a vote or a pre-vote, without the voter to which it will go."""
    assert core.local_key is not None
    position = core.log.position
    return VoteRequest(
        epoch=role.epoch,
        candidate=core.local_key,
        last_epoch=position.epoch,
        end_offset=position.offset,
        pre_vote=isinstance(role, Prospective),
    )


def _remember_vote(core: Core, request: VoteRequest) -> None:
    """Note the first vote in this epoch. An unattached voter then starts its election timeout anew,
    to give the candidate time."""
    role = core.role
    if role.voted is not None:
        return
    if isinstance(role, Unattached):
        voted = replace(role, voted=request.candidate, election_deadline=core.election_timeout())
        core.become(TransitionCause.VOTED, voted)
    elif isinstance(role, Prospective):
        core.become(TransitionCause.VOTED, replace(role, voted=request.candidate))


def _stands_again(core: Core, request: VoteRequest) -> bool:
    """Whether the sender stands for election in an epoch in which its log already has records.

    A voter of Kafka does so if it stood in the epoch, then followed the leader that won, and then
    restarted (QuorumState.initialize checks the vote before the leader).
    """
    is_real = not request.pre_vote and request.last_epoch == request.epoch
    is_plausible = request.end_offset > 0 and request.candidate.node_id not in (-1, core.local_id)
    return is_real and is_plausible and 0 <= request.epoch <= core.role.epoch


def _refuse_again(core: Core, request_id: Hashable, request: VoteRequest) -> None:
    """Refuse the vote by INVALID_REQUEST, as Kafka does. The answer names the newer epoch, or the
    leader of the sender's epoch.

    While this replica knows no leader of the sender's epoch, the answer has no error:
    INVALID_REQUEST would then end the process of a Kafka node
    (KafkaRaftClient.maybeHandleCommonResponse).
    """
    if (core.role.epoch, core.role.leader_id) == (request.epoch, NO_NODE):
        core.reply(request_id, core.signed(VoteResponse(granted=False)))
    else:
        core.refuse(request_id, request, ErrorCode.INVALID_REQUEST)


def _mistake_in(core: Core, request: VoteRequest) -> Mistake | None:
    """Why no correct candidate sends this request; None for a legal request."""
    highest = request.epoch if request.pre_vote else request.epoch - 1
    if request.epoch < 0 or request.end_offset < 0 or not 0 <= request.last_epoch <= highest:
        return Mistake.VOTE_NUMBERS
    if request.candidate.node_id < 0:
        return Mistake.VOTE_WITHOUT_CANDIDATE
    if request.candidate.node_id == core.local_id:
        return Mistake.VOTE_OF_OWN_ID
    return None
