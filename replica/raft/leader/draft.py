"""FetchQuorumRecords, the RPC of KIP-595's draft that became a part of Fetch in released Kafka.

A leader decides as it does for Fetch, and answers in the draft's form. The draft's errors have
other names than those of Fetch, and a diverging follower gets the offset to truncate to. The answer
also says whether the sender is still a voter, at which offset the newest snapshot ends, and when
the sender was last caught up.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from replica.history.fetch import DraftOutOfRange, draft_validate_position
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.raft.core import Core
from replica.raft.effects import LogRead
from replica.raft.leader.replication import count_fetch, progress_of
from replica.raft.messages import FetchQuorumRecordsRequest, FetchQuorumRecordsResponse
from replica.raft.mistakes import Mistake
from replica.raft.roles import Leader, ReplicaProgress


def handle_fetch_quorum_records(
    core: Core, request_id: Hashable, request: FetchQuorumRecordsRequest
) -> None:
    """Answer at once (the draft's fetch never waits), by steps 1 to 3 of KIP-595's draft."""
    role = core.role
    if min(request.fetch_offset, request.fetch_epoch) < 0 or (
        NO_NODE != request.replica.node_id == core.local_id
    ):
        core.refuse_illegal(request_id, request, Mistake.DRAFT_FETCH_NUMBERS)
        return
    if request.epoch != role.epoch:
        core.refuse(request_id, request, ErrorCode.MISMATCH_EPOCH)
        return
    if not isinstance(role, Leader):
        core.refuse(request_id, request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return
    decision = draft_validate_position(core.log.view, request.fetch_offset, request.fetch_epoch)
    if request.is_follower and not isinstance(decision, DraftOutOfRange):
        count_fetch(core, request.replica, request.fetch_offset)
    snapshot = core.log.latest_snapshot
    is_voter = core.log.voters.is_voter(request.replica)
    progress = progress_of(core, request.replica) or ReplicaProgress()
    response = FetchQuorumRecordsResponse(
        error=ErrorCode.NOT_FOLLOWER if request.is_follower and not is_voter else ErrorCode.NONE,
        high_watermark=-1 if core.high_watermark is None else core.high_watermark,
        first_dirty_offset=0 if snapshot is None else snapshot.offset,
        last_caught_up=progress.last_caught_up,
    )
    read = None
    if isinstance(decision, DraftOutOfRange):
        response = replace(
            response,
            error=ErrorCode.OFFSET_OUT_OF_RANGE,
            next_fetch_offset=decision.next_fetch_offset,
            next_fetch_epoch=decision.next_fetch_epoch,
        )
    elif request.fetch_offset < core.log.log_end:
        limit = min(request.max_bytes, core.config.response_max_bytes)
        read = LogRead(request.fetch_offset, limit)
    core.reply(request_id, core.signed(response), read)
