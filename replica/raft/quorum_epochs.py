"""BeginQuorumEpoch and EndQuorumEpoch: how a leader announces its epoch and its resignation
(KIP-595).

Kafka: handleBeginQuorumEpochRequest, handleEndQuorumEpochRequest, pollResigned; scenarios E of
tests/scenarios.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.raft.core import Core
from replica.raft.epoch_bounds import MAX_EPOCH
from replica.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
)
from replica.raft.mistakes import Mistake
from replica.raft.request_checks import is_for_other_voter, is_non_voter, refuse_non_voter
from replica.raft.roles import Follower, Resigned, Unattached
from replica.raft.transitions import TransitionCause


def handle_begin(core: Core, request_id: Hashable, request: BeginQuorumEpochRequest) -> None:
    """Follow the leader that sent the request. A request that names another directory of this node
    is answered INVALID_VOTER_KEY, but this replica follows the leader all the same."""
    if not _adopt(core, request_id, request):
        return
    if is_for_other_voter(core, request.voter):
        core.refuse(request_id, request, ErrorCode.INVALID_VOTER_KEY)
        return
    core.reply(request_id, core.signed(BeginQuorumEpochResponse()))


def handle_end(core: Core, request_id: Hashable, request: EndQuorumEpochRequest) -> None:
    """Start an election after the leader has resigned: the first successor at once, the other
    voters later.

    Meanwhile the other voters grant the first successor a pre-vote, because the leader itself said
    that it has resigned. Kafka's followers refuse that pre-vote. So with more than three voters,
    Kafka's election waits for the fetch timeout.
    """
    if not _adopt(core, request_id, request):
        return
    role = core.role
    if isinstance(role, Follower) and role.leader_id == request.leader_id:
        wait = _successor_backoff(core, request.preferred_successors)
        core.keep(replace(role, fetch_deadline=core.now + wait, has_resigned=True))
    core.reply(request_id, core.signed(EndQuorumEpochResponse()))


def handle_end_response(core: Core, node_id: int) -> bool:
    """Note that a voter knows that this leader has resigned. Returns True, because no answer to
    EndQuorumEpoch is bad."""
    role = core.role
    if isinstance(role, Resigned):
        core.keep(replace(role, unacked=role.unacked - {node_id}))
    return True


def resigned(core: Core, epoch: int, successors: tuple[ReplicaKey, ...] = ()) -> Resigned:
    """The role of a replica that has led this epoch and has resigned."""
    assert core.local is not None, "a leader has a node id"
    others = core.log.voters.others(core.local.key)
    return Resigned(
        epoch,
        core.local_id,
        core.local.endpoints,
        election_deadline=core.drawn_deadline(),
        unacked=frozenset(voter.key.node_id for voter in others),
        preferred_successors=successors,
    )


def poll_resigned(core: Core, role: Resigned) -> int:
    """Send EndQuorumEpoch to the voters that have not answered yet. After the election timeout
    become unattached in the next epoch. Returns when (ms) the next step is due."""
    deadline = role.election_deadline
    if core.shutdown_deadline is not None:
        deadline = core.shutdown_deadline
    elif deadline <= core.now and role.epoch >= MAX_EPOCH:
        deadline = core.election_timeout()
        core.keep(replace(role, election_deadline=deadline))
    elif deadline <= core.now:
        following = Unattached(role.epoch + 1, core.election_timeout())
        core.become(TransitionCause.TIMEOUT, following)
        return core.now
    for voter in core.log.voters:
        if voter.key.node_id in role.unacked:
            request = EndQuorumEpochRequest(
                epoch=role.epoch,
                leader_id=role.leader_id,
                leader_endpoints=role.leader_endpoints,
                preferred_successors=role.preferred_successors,
            )
            deadline = min(deadline, core.send(voter.key.node_id, voter.endpoints, request))
    return deadline


def _adopt(
    core: Core, request_id: Hashable, request: BeginQuorumEpochRequest | EndQuorumEpochRequest
) -> bool:
    """Learn epoch and leader from a request, or refuse the request. Returns False if it was
    refused."""
    if request.leader_id < 0 or request.epoch < 0:
        core.refuse_illegal(request_id, request, Mistake.EPOCH_WITHOUT_LEADER)
    elif request.epoch < core.role.epoch:
        core.refuse(request_id, request, ErrorCode.FENCED_LEADER_EPOCH)
    elif not core.has_consistent_leader(request.epoch, request.leader_id):
        core.refuse_illegal(request_id, request, Mistake.SECOND_LEADER)
    elif _needs_voter_check(core, request) and is_non_voter(core, request.leader_id):
        refuse_non_voter(core, request_id, request)
    elif not core.is_plausible_epoch(request.epoch):
        core.refuse_illegal(request_id, request, Mistake.UNEXPLAINED_EPOCH)
    else:
        heard = isinstance(request, BeginQuorumEpochRequest)
        core.learn(request.epoch, request.leader_id, request.leader_endpoints, heard=heard)
        return True
    return False


def _needs_voter_check(
    core: Core, request: BeginQuorumEpochRequest | EndQuorumEpochRequest
) -> bool:
    """Whether this replica neither knows this leader nor has voted for it in this epoch. This
    replica then accepts the request only if its log names the sender as a voter, or names no voters
    at all (is_non_voter). A replica that refuses the request may still learn of this leader when it
    asks other voters."""
    if (request.epoch, request.leader_id) == (core.role.epoch, core.role.leader_id):
        return False
    voted = core.role.voted if request.epoch == core.role.epoch else None
    return voted is None or voted.node_id != request.leader_id


def _successor_backoff(core: Core, successors: tuple[ReplicaKey, ...]) -> int:
    """The time (ms) that this replica waits before it stands in the election: 0 for the first
    successor. Each later successor waits twice as long as the previous successor, up to the maximum
    (election_backoff_max_ms). A replica that is not on the list waits for the maximum."""
    longest = core.config.election_backoff_max_ms
    places = [place for place, key in enumerate(successors) if core.is_local(key)]
    if not places:
        return longest
    if places[0] == 0:
        return 0
    base = longest >> (len(successors) - 1)
    return min(longest, base << (places[0] - 1))
