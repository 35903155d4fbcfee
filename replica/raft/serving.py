"""A leader's answers to fetches of records and snapshots (Kafka: handleFetchRequest,
tryCompleteFetchRequest, handleFetchSnapshotRequest; the decision is history.fetch's)."""

from __future__ import annotations

from collections.abc import Hashable

from replica.history.fetch import Records, validate_position
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.model.snapshot_id import BOOTSTRAP_SNAPSHOT
from replica.raft.core import Core, ParkedFetch
from replica.raft.effects import SnapshotRead
from replica.raft.leading import update_high_watermark
from replica.raft.messages import FetchRequest, FetchSnapshotRequest, FetchSnapshotResponse
from replica.raft.parked import answer, has_news
from replica.raft.requests import leader_only_error


def handle_fetch_request(core: Core, request_id: Hashable, request: FetchRequest) -> None:
    """Answer now, or keep the fetch until there is something to say (B22-B24)."""
    if (
        min(request.fetch_offset, request.last_fetched_epoch, request.max_wait_ms) < 0
        or request.last_fetched_epoch > request.epoch
    ):
        core.refuse_illegal(request_id, request, "fetch with impossible numbers")
        return
    error = leader_only_error(core, request.epoch)
    if error is not None:
        core.refuse(request_id, request, error)
        return
    if request.replica.node_id == core.local_id:
        core.refuse_illegal(request_id, request, "fetch from the leader's own id")
        return
    decision = validate_position(core.log.view, request.fetch_offset, request.last_fetched_epoch)
    if isinstance(decision, Records):
        count_fetch(core, request.replica, request.fetch_offset)
        if not has_news(core, request) and request.max_wait_ms > 0:
            deadline = core.now + request.max_wait_ms
            core.parked = (*core.parked, ParkedFetch(request_id, request, deadline))
            return
    answer(core, request_id, request, decision)


def handle_fetch_snapshot_request(
    core: Core, request_id: Hashable, request: FetchSnapshotRequest
) -> None:
    """A slice of a complete snapshot; the bootstrap snapshot is nobody's to fetch (G12-G18)."""
    error = leader_only_error(core, request.epoch)
    facts = core.log.snapshot(request.snapshot_id)
    if error is None and (facts is None or request.snapshot_id == BOOTSTRAP_SNAPSHOT):
        error = ErrorCode.SNAPSHOT_NOT_FOUND
    if facts is not None and error is None and not 0 <= request.position < facts.size:
        error = ErrorCode.POSITION_OUT_OF_RANGE
    if error is not None or facts is None:
        core.refuse(request_id, request, error or ErrorCode.SNAPSHOT_NOT_FOUND)
        return
    hear_of(core, request.replica)
    limit = min(request.max_bytes, core.config.response_max_bytes)
    length = max(0, min(limit, facts.size - request.position))
    response = FetchSnapshotResponse(
        snapshot_id=request.snapshot_id, size=facts.size, position=request.position
    )
    read = SnapshotRead(request.snapshot_id, request.position, length)
    core.reply(request_id, core.signed(response), read)


def hear_of(core: Core, replica: ReplicaKey) -> None:
    """Count a sign of life for check-quorum."""
    role = core.leader
    wait = core.config.fetch_timeout_ms
    core.keep(role.heard_of(replica, core.log.voters, core.now, wait))


def count_fetch(core: Core, replica: ReplicaKey, fetch_offset: int) -> None:
    """A valid fetch says that everything below its offset is flushed at that replica."""
    if replica.node_id < 0:
        return
    role = core.leader.fetched(replica, fetch_offset, core.log.log_end, core.log.voters, core.now)
    core.keep(role)
    hear_of(core, replica)
    update_high_watermark(core)
