"""Checks that several requests share. Kafka: validateLeaderOnlyRequest, isValidVoterKey."""

from __future__ import annotations

from collections.abc import Hashable

from replica.history.fetch import validate_leader_epoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.raft.core import Core
from replica.raft.messages import PeerRequest, VoteRequest, VoteResponse, sender_of
from replica.raft.mistakes import Mistake
from replica.raft.roles import Leader


def is_of_other_cluster(core: Core, request: PeerRequest) -> bool:
    """Whether a request names another cluster. A request may name no cluster; an empty name counts
    as another cluster."""
    return request.cluster_id not in (None, core.config.cluster_id)


def is_for_other_voter(core: Core, voter: ReplicaKey | None) -> bool:
    """Whether a request names another voter, for example this node before its disk was wiped."""
    return voter is not None and not core.is_local(voter)


def is_non_voter(core: Core, node_id: int, *, has_newer_log: bool = False) -> bool:
    """Whether the sender of a request that would change epoch or leader can't be a voter. The
    caller then answers with refuse_non_voter.

    While no voters are known, every node may be a voter. If the log names the voters (KIP-853), a
    node with a newer log may know a voter set that this log lacks, and may need this replica's
    vote. A node with an older log may not know that it was removed. At kraft.version 0 the voters
    never change.
    """
    log = core.log
    since = log.voters_since((core.committed or 0) - 1)
    if not log.voters or any(node_id in voters.ids for voters in since):
        return False
    return log.kraft_version == 0 or not has_newer_log


def refuse_non_voter(core: Core, request_id: Hashable, request: PeerRequest) -> None:
    """Refuse a request of a node that is not a voter. The request counts as illegal only at
    kraft.version 0: at version 1 the node may have been a voter before.

    A candidate gets no vote; _adopt_epoch decides whether this replica adopts its epoch. A leader
    gets an error after which it asks again, because this log may not name it as a voter yet.
    Neither of them gets INVALID_REQUEST: a controller of Kafka stops when an answer of its own
    epoch has this error (KafkaRaftClient.maybeHandleCommonResponse).
    """
    if core.log.kraft_version == 0:
        core.blame(Mistake.NO_VOTER, sender_of(request), type(request))
    if isinstance(request, VoteRequest):
        _adopt_epoch(core, request)
        core.reply(request_id, core.signed(VoteResponse(granted=False)))
    else:
        core.refuse(request_id, request, ErrorCode.BROKER_NOT_AVAILABLE)


def _adopt_epoch(core: Core, request: VoteRequest) -> None:
    """Adopt the newer epoch of a candidate that the log doesn't name as a voter, if this replica is
    a voter and the voters may change.

    A node that stood in an election before it was removed may have a newer epoch than the quorum.
    Such a node can't follow a leader of an older epoch, so it would never learn from the log that
    it was removed. A voter therefore adopts the node's epoch, as Kafka's voters do. The adoption
    costs one election: no voter grants the node a pre-vote, so its epoch rises no more, and the
    node follows the next leader. An observer never adopts the epoch, because it asks for no votes
    and so couldn't pass the epoch on. The observer's answer names its leader, which the node then
    asks (roles.OlderLeader).
    """
    if core.log.kraft_version == 0 or not core.is_voter or request.epoch <= core.role.epoch:
        return
    if core.is_plausible_epoch(request.epoch):
        core.detach(request.epoch)
    else:
        core.blame(Mistake.UNEXPLAINED_EPOCH, sender_of(request), VoteRequest)


def leader_only_error(core: Core, epoch: int) -> ErrorCode | None:
    """The error for a request to the leader of `epoch`; None if this replica is that leader."""
    mismatch = validate_leader_epoch(core.role.epoch, epoch)
    if mismatch is not None or isinstance(core.role, Leader):
        return mismatch
    return ErrorCode.NOT_LEADER_OR_FOLLOWER
