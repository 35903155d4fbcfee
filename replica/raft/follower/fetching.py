"""What a follower does with a leader's answers, and when it stops trusting the leader.

Kafka: handleFetchResponse, handleFetchSnapshotResponse, pollFollower. replica.history decides where
to truncate, and computes the high watermark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replica.history.fetch import Diverging
from replica.history.truncation import checked_truncation_offset
from replica.history.watermark import (
    HighWatermarkRegressionError,
    checked_leader_watermark,
    follower_high_watermark,
)
from replica.model.batch import Batch
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.raft.core import Core
from replica.raft.effects import SnapshotPart
from replica.raft.election import become_prospective
from replica.raft.follower.fetch_requests import fetch_from_any, fetch_from_leader, servers_of
from replica.raft.follower.voter_updates import change_to_join, may_join, next_update, update
from replica.raft.log_start import follow_log_start
from replica.raft.messages import FetchResponse, FetchSnapshotResponse, PeerRequest
from replica.raft.mistakes import Mistake
from replica.raft.roles import Follower, SnapshotFetch


def poll_follower(core: Core, role: Follower) -> int:
    """Fetch from the leader. A voter starts a pre-vote once the fetch timeout is over. Returns when
    (ms) the next step is due.

    Each time a fetch fails, Kafka's voter also asks another server who leads, and doesn't fetch
    from the leader again before the answer (KafkaRaftClient.maybeSendFetchToBestNode). If that
    server is down, the voter waits for the request timeout, and in a quorum of three the commits
    wait too. A new leader announces itself to all voters, so a voter of this core doesn't ask.
    """
    if core.shutdown_deadline is not None:
        return core.shutdown_deadline
    if not core.may_stand:
        return _poll_observer(core, role)
    if role.fetch_deadline <= core.now:
        become_prospective(core)
        return core.now
    if role.update_voter_deadline > core.now:
        again = fetch_from_leader(core, role)
    elif not core.connections.is_ready(role.leader_id, core.now):
        # the update takes the place of the next fetch
        return min(core.connections.ready_at(role.leader_id), role.fetch_deadline)
    else:
        request = update(core, role)
        again = fetch_from_leader(core, role) if request is None else _ask(core, role, request)
        role = replace(role, update_voter_deadline=next_update(core))
        core.keep(role)
    return min(again, role.fetch_deadline, role.update_voter_deadline)


def handle_fetch_response(core: Core, node_id: int, response: FetchResponse) -> bool:
    """Truncate, begin to fetch a snapshot, or append. Returns False for an answer after which the
    leader gets no request for a while.

    Raises TruncationBelowHighWatermarkError if the leader's log lacks records that are committed
    here; this replica must then stop.
    """
    role = core.role
    if response.error is not ErrorCode.NONE:
        return False
    if not isinstance(role, Follower):  # the answer doesn't say where the leader listens
        return False
    named = response.diverging or response.snapshot_id
    if named is not None and (named.offset < 0 or not 0 <= named.epoch <= role.epoch):
        mistake: Mistake | None = Mistake.ANSWER_NUMBERS
    elif response.diverging is not None:
        mistake = _truncate(core, response.diverging)
    elif response.snapshot_id is not None:
        mistake = _begin_snapshot(core, role, response.snapshot_id)
    else:
        mistake = _append(core, role, response)
    if mistake is not None:
        core.blame(mistake, node_id, FetchResponse)
        return False
    _trust(core)
    return True


def handle_fetch_snapshot_response(
    core: Core, node_id: int, response: FetchSnapshotResponse
) -> bool:
    """Have the host write a slice of the snapshot. After the last slice the host validates the
    snapshot (SnapshotFetched). Returns False for an answer after which the leader gets no request
    for a while."""
    role = core.role
    if not isinstance(role, Follower) or role.fetching is None:
        return True
    fetching, snapshot_id = role.fetching, response.snapshot_id
    if (
        response.error is ErrorCode.SNAPSHOT_NOT_FOUND
        or snapshot_id is None
        or min(snapshot_id.offset, snapshot_id.epoch) < 0
    ):
        # go back to a plain fetch after a pause: without a pause, this replica and a faulty leader
        # would exchange requests without end
        core.keep(replace(role, fetching=None))
        _trust(core)
        return False
    if response.error is not ErrorCode.NONE:
        return False
    end = response.position + len(response.data)
    if (
        (snapshot_id, response.position) != (fetching.snapshot_id, fetching.position)
        or end > response.size
        or not response.data
    ):
        core.blame(Mistake.SNAPSHOT_SLICE, node_id, FetchSnapshotResponse)
        return False
    is_last = end == response.size
    part = SnapshotPart(snapshot_id, response.position, response.data, is_last)
    core.write_part(part)
    core.keep(replace(role, fetching=SnapshotFetch(snapshot_id, end, is_last)))
    _trust(core)
    return True


def handle_refused_snapshot(core: Core) -> bool:
    """Go back to a plain fetch after a pause, because the leader refuses the snapshot and doesn't
    say why. The answer names no epoch, so the answer doesn't show that its sender still leads.
    Returns False, as for a bad answer."""
    role = core.role
    if isinstance(role, Follower):
        core.keep(replace(role, fetching=None))
    return False


def _ask(core: Core, role: Follower, request: PeerRequest) -> int:
    """Ask the leader for a change of the voter set. Returns when (ms) the next request may be
    sent."""
    return core.send(role.leader_id, role.leader_endpoints, request)


def _poll_observer(core: Core, role: Follower) -> int:
    """Fetch as an observer. When the update timer ends, ask to become a voter, if this replica may
    join. Returns when (ms) the next step is due."""
    if role.update_voter_deadline > core.now:
        again = _fetch_as_observer(core, role)
        return min(again, role.update_voter_deadline) if may_join(core) else again
    request = change_to_join(core, role)
    if request is None:
        return _fetch_as_observer(core, role)
    if not core.connections.is_ready(role.leader_id, core.now):
        # the request takes the place of the next fetch
        return core.connections.ready_at(role.leader_id)
    again = _ask(core, role, request)
    deadline = next_update(core)
    core.keep(replace(role, update_voter_deadline=deadline))
    return min(again, deadline)


def _fetch_as_observer(core: Core, role: Follower) -> int:
    """Fetch from the leader. Each time a fetch fails, ask one of servers_of(core) who leads.
    Returns when (ms) the next step is due.

    Kafka's observer asks the bootstrap servers alone once the fetch timeout is over. Then Kafka's
    observer never fetches again from a leader that is not a bootstrap server, even if the bootstrap
    servers name that leader.
    """
    connections, leader = core.connections, role.leader_id
    if connections.has_timed_out(leader, core.now):
        connections.forget(leader)
        if servers_of(core):
            return fetch_from_any(core)
    if connections.is_backing_off(leader, core.now):
        if role.fetching is not None:
            return connections.ready_at(leader)
        return min(fetch_from_any(core), connections.ready_at(leader))
    if connections.has_any_in_flight(core.now):
        return connections.next_bootstrap_at(servers_of(core), core.now)
    return fetch_from_leader(core, role)


def _truncate(core: Core, diverging: OffsetAndEpoch) -> Mistake | None:
    """Cut the log where it differs from the leader's. Returns the leader's mistake if nothing is
    left to cut: no correct leader names a difference then, as replica.history.truncation explains.
    Else returns None."""
    decision = Diverging(diverging.epoch, diverging.offset)
    end = checked_truncation_offset(core.log.view, decision, core.committed)
    if end >= core.log.log_end:
        return Mistake.DIVERGING_CUTS_NOTHING
    core.truncate(end)
    return None


def _begin_snapshot(core: Core, role: Follower, snapshot_id: OffsetAndEpoch) -> Mistake | None:
    """Begin to fetch a snapshot. Returns the leader's mistake if this replica already has the
    snapshot, or if it is the bootstrap snapshot, which each replica writes for itself. Else returns
    None."""
    if snapshot_id == BOOTSTRAP_SNAPSHOT or core.log.snapshot(snapshot_id) is not None:
        return Mistake.SNAPSHOT_NOT_NEEDED
    core.keep(replace(role, fetching=SnapshotFetch(snapshot_id)))
    return None


def _append(core: Core, role: Follower, response: FetchResponse) -> Mistake | None:
    """Append the batches that this log lacks, and follow the leader's high watermark and log start.
    Returns what is wrong with the answer; None for a correct answer."""
    batches = [batch for batch in response.batches if batch.end_offset > core.log.log_end]
    if not _fits(core, batches):
        return Mistake.RECORDS_APART
    try:
        named = checked_leader_watermark(role.leader_watermark, response.high_watermark)
    except HighWatermarkRegressionError:
        return Mistake.WATERMARK_FELL
    if batches:
        core.append(batches)
    core.keep(replace(role, leader_watermark=named))
    reached = follower_high_watermark(core.committed, named, core.log.log_end)
    if reached is not None:
        core.commit_to(reached)
    follow_log_start(core, response.log_start)
    return None


def _fits(core: Core, batches: Sequence[Batch]) -> bool:
    """Whether batches continue the log without a gap, their epochs never fall, and no epoch is
    newer than the current epoch."""
    end, epoch = core.log.log_end, core.log.last_epoch
    for batch in batches:
        if batch.base_offset != end or not epoch <= batch.epoch <= core.role.epoch:
            return False
        end, epoch = batch.end_offset, batch.epoch
    return True


def _trust(core: Core) -> None:
    """Note a good answer of the leader: the fetch timeout starts again."""
    role = core.role
    assert isinstance(role, Follower)
    core.keep(role.trusting(core.now + core.config.fetch_timeout_ms))
