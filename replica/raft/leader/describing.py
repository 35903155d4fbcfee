"""DescribeQuorum: the leader's view of how far the log of each replica is (KIP-595, KIP-836)."""

from __future__ import annotations

from collections.abc import Hashable

from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.raft.core import Core
from replica.raft.leader.replication import progress_of
from replica.raft.messages import DescribeQuorumRequest, DescribeQuorumResponse, ReplicaState
from replica.raft.roles import Leader, ReplicaProgress


def handle_describe_quorum(
    core: Core, request_id: Hashable, request: DescribeQuorumRequest
) -> None:
    """Answer the request if this replica leads, else refuse the request. The answer leaves out
    observers that haven't fetched for OBSERVER_SESSION_MS."""
    role = core.role
    if not isinstance(role, Leader):
        core.refuse(request_id, request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return
    voters = core.log.voters
    core.work.observers.forget_idle(core.now)
    observers = sorted(core.work.observers.view)
    if not core.is_voter:
        observers = sorted({*observers, role.local})
    response = DescribeQuorumResponse(
        high_watermark=-1 if role.high_watermark is None else role.high_watermark,
        voters=tuple(_state(core, role, voter.key) for voter in voters),
        observers=tuple(_state(core, role, key) for key in observers),
    )
    core.reply(request_id, core.signed(response))


def _state(core: Core, role: Leader, key: ReplicaKey) -> ReplicaState:
    """The log end and the times of the fetches of one replica. The leader itself makes no fetch,
    and its log is always caught up."""
    if key.node_id == role.local.node_id:
        return ReplicaState(key, core.log.log_end, -1, core.now)
    progress = progress_of(core, key) or ReplicaProgress(log_end=-1)
    return ReplicaState(key, progress.log_end, progress.last_fetch, progress.last_caught_up)
