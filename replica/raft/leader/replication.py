"""How a leader replicates its log: its appends, its answers to fetches, its high watermark.

Kafka: handleFetchRequest, tryCompleteFetchRequest (the fetch purgatory), buildFetchResponse,
handleFetchSnapshotRequest, LeaderState.maybeUpdateHighWatermark. replica.history.fetch decides how
a fetch is answered. Records that wait for the end of the linger are appended before any other
batch, so that they keep the offsets that were promised.

Kafka's leader waits for the end of the linger even if all earlier records are committed. This
leader appends the waiting records as soon as all earlier records are committed. So a record waits
until the batch before it is committed or the linger is over, whichever comes first. Under load,
slower commits make larger batches.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from replica.history.fetch import Diverging, SnapshotNeeded, ValidPosition, validate_position
from replica.model.batch import Batch
from replica.model.control import ControlRecord
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.model.voters import majority
from replica.raft.config import FOREVER
from replica.raft.core import Core
from replica.raft.effects import LogRead, SnapshotRead
from replica.raft.leader.parked import ParkedFetch
from replica.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from replica.raft.mistakes import Mistake
from replica.raft.request_checks import leader_only_error
from replica.raft.roles import ReplicaProgress

CHECK_QUORUM_FACTOR = 1.5
"""A leader resigns if no majority has fetched from the leader for this many fetch timeouts."""


def append_control(core: Core, *records: ControlRecord) -> int:
    """Append a batch of control records. Returns its last offset (inclusive)."""
    base = core.next_append_offset
    last = base + len(records) - 1
    append(core, [Batch(base, last, core.role.epoch, core.now, records)])
    return last


def append(core: Core, batches: Sequence[Batch] = ()) -> None:
    """Append the records in the accumulator, and then `batches`, to the leader's log. Voter sets in
    the batches are in force at once, and parked fetches get the records."""
    before = core.log.voters
    core.append([*_drained(core), *batches])
    if core.log.voters != before:
        _change_voters(core)
    role = core.leader
    if role.check_quorum_deadline == FOREVER:
        role = replace(role, check_quorum_deadline=check_quorum_deadline(core))
    core.keep(role)
    update_high_watermark(core)
    serve_parked(core)


def _change_voters(core: Core) -> None:
    """Move the progress of new voters to the voters, and the progress of removed voters to the
    observers. A voter that gets a directory id in the new set keeps its progress."""
    role, voters = core.leader, core.log.voters
    named = {voter.key.node_id: voter.key for voter in voters}
    progress = {}
    for key, known in role.progress.items():
        had_no_directory = key == ReplicaKey(key.node_id)
        if key in voters.keys or (had_no_directory and key.node_id in named):
            progress[named[key.node_id]] = known
        else:
            core.work.observers.put(key, known)
    for voter in voters:
        joined = core.work.observers.remove(voter.key)
        if joined is not None:
            progress[voter.key] = joined
    core.keep(replace(role, progress=progress))


def append_if_idle(core: Core) -> None:
    """Append the records that wait, if all records before them are committed.

    `append` calls this function again, through `update_high_watermark`, but then no records wait.
    """
    role = core.leader
    is_idle = role.high_watermark == core.log.log_end and not role.resign_requested
    if core.config.append_when_idle and is_idle and core.work.accumulator.record_count:
        append(core)


def _drained(core: Core) -> Iterator[Batch]:
    """Take the waiting records out of the accumulator, and give them as batches with offsets from
    the log end on."""
    base = core.log.log_end
    for waited in core.work.accumulator.drain():
        last = base + len(waited.values) - 1
        values = tuple(waited.values)
        yield Batch(base, last, core.role.epoch, waited.timestamp, values=values)
        base = last + 1


def handle_fetch_request(core: Core, request_id: Hashable, request: FetchRequest) -> None:
    """Answer a fetch now, or park the fetch until there are records or a newer high watermark for
    its sender."""
    if (
        min(request.fetch_offset, request.last_fetched_epoch, request.max_wait_ms) < 0
        or request.last_fetched_epoch > request.epoch
    ):
        core.refuse_illegal(request_id, request, Mistake.FETCH_NUMBERS)
        return
    error = leader_only_error(core, request.epoch)
    if error is not None:
        core.refuse(request_id, request, error)
        return
    if request.replica.node_id == core.local_id:
        core.refuse_illegal(request_id, request, Mistake.FETCH_OF_OWN_ID)
        return
    decision = validate_position(core.log.view, request.fetch_offset, request.last_fetched_epoch)
    if isinstance(decision, ValidPosition):
        count_fetch(core, request.replica, request.fetch_offset)
        if not can_answer_now(core, request) and request.max_wait_ms > 0:
            deadline = core.now + request.max_wait_ms
            core.work.parked.park(ParkedFetch(request_id, request, deadline))
            return
    answer(core, request_id, request, decision)


def handle_fetch_snapshot_request(
    core: Core, request_id: Hashable, request: FetchSnapshotRequest
) -> None:
    """Answer with a slice of a complete snapshot. The bootstrap snapshot is served to no
    replica."""
    error = leader_only_error(core, request.epoch)
    facts = core.log.snapshot(request.snapshot_id)
    if error is None and (facts is None or request.snapshot_id == BOOTSTRAP_SNAPSHOT):
        error = ErrorCode.SNAPSHOT_NOT_FOUND
    if facts is not None and error is None and not 0 <= request.position < facts.size:
        error = ErrorCode.POSITION_OUT_OF_RANGE
    if error is not None or facts is None:
        core.refuse(request_id, request, error or ErrorCode.SNAPSHOT_NOT_FOUND)
        return
    count_for_check_quorum(core, request.replica)
    limit = min(request.max_bytes, core.config.response_max_bytes)
    length = max(0, min(limit, facts.size - request.position))
    response = FetchSnapshotResponse(
        snapshot_id=request.snapshot_id, size=facts.size, position=request.position
    )
    read = SnapshotRead(request.snapshot_id, request.position, length)
    core.reply(request_id, core.signed(response), read)


def answer(
    core: Core,
    request_id: Hashable,
    request: FetchRequest,
    decision: ValidPosition | Diverging | SnapshotNeeded,
) -> None:
    """Answer a fetch by a `decision` of replica.history.fetch. The host reads the records from its
    log."""
    response = FetchResponse(high_watermark=core.high_watermark, log_start=core.log.log_start)
    read = None
    if isinstance(decision, Diverging):
        diverging = OffsetAndEpoch(decision.end_offset, decision.epoch)
        response = replace(response, diverging=diverging)
    elif isinstance(decision, SnapshotNeeded):
        response = replace(response, snapshot_id=decision.snapshot_id)
    elif request.fetch_offset < core.log.log_end:
        limit = min(request.max_bytes, core.config.response_max_bytes)
        read = LogRead(request.fetch_offset, limit)
    core.reply(request_id, core.signed(response), read)


def can_answer_now(core: Core, request: FetchRequest) -> bool:
    """Whether there are records for the sender, or a newer high watermark (KIP-1166)."""
    if request.fetch_offset < core.log.log_end:
        return True
    known, current = request.high_watermark, core.high_watermark
    return known is not None and current is not None and known < current


def serve_parked(core: Core) -> None:
    """Answer the parked fetches for which there are records or a newer high watermark now."""
    for fetch in core.work.parked.take_due(core.log.log_end, core.high_watermark):
        answer(core, fetch.request_id, fetch.request, ValidPosition())


def expire_parked(core: Core) -> None:
    """Answer the parked fetches whose maximum wait is over, with no records and no error."""
    for fetch in core.work.parked.take_expired(core.now):
        answer(core, fetch.request_id, fetch.request, ValidPosition())


def count_fetch(core: Core, replica: ReplicaKey, fetch_offset: int) -> None:
    """Note a valid fetch, which says that its sender has flushed everything below
    `fetch_offset`."""
    if replica.node_id < 0:
        return
    voter, log_end = core.log.voters.voter_of(replica), core.log.log_end
    if voter is None:
        known = core.work.observers.get(replica) or ReplicaProgress()
        core.work.observers.put(replica, known.fetched(fetch_offset, log_end, core.now))
        return
    core.keep(core.leader.fetched(voter.key, fetch_offset, log_end, core.now))
    count_for_check_quorum(core, replica)
    update_high_watermark(core)


def progress_of(core: Core, replica: ReplicaKey) -> ReplicaProgress | None:
    """The progress of a voter's or observer's log; None if this leader doesn't know that
    replica."""
    voter = core.log.voters.voter_of(replica)
    if voter is None:
        return core.work.observers.get(replica)
    return core.leader.progress.get(voter.key)


def count_for_check_quorum(core: Core, replica: ReplicaKey) -> None:
    """Count a voter's fetch or snapshot fetch for check-quorum. Once a majority has fetched, the
    next deadline begins."""
    role, voters = core.leader, core.log.voters
    if not voters.is_voter(replica) or replica.node_id == core.local_id:
        return
    heard = role.heard | {replica.node_id}
    needed = majority(len(voters)) - core.is_voter
    if len(heard & set(voters.ids)) < needed:
        core.keep(replace(role, heard=heard))
    else:
        deadline = check_quorum_deadline(core)
        core.keep(replace(role, heard=frozenset(), check_quorum_deadline=deadline))


def check_quorum_deadline(core: Core) -> int:
    """The time (ms) by which a majority has to fetch; FOREVER if the leader is the only voter."""
    if core.is_only_voter:
        return FOREVER
    return core.now + int(core.config.fetch_timeout_ms * CHECK_QUORUM_FACTOR)


def update_high_watermark(core: Core) -> None:
    """Compute the high watermark anew, and do what waits for the commit of records.

    The leader calls this function after each append, each flush, and each fetch of a voter.
    """
    role = core.leader
    counted = role.counted(core.log.voters, core.log.flushed_end)
    if counted.high_watermark is None or counted is role:
        return
    core.keep(counted)
    core.commit_to(counted.high_watermark)
    core.announce()
    _end_change(core, counted.high_watermark)
    append_if_idle(core)  # the answer to the fetch that committed the last batch has the next batch
    serve_parked(core)


def _end_change(core: Core, high_watermark: int) -> None:
    """End the pending change if its record is committed. A leader whose removal is committed
    resigns."""
    if not core.is_voter and (core.log.voters_offset or 0) < high_watermark:
        core.keep(replace(core.leader, resign_requested=True))
    change = core.leader.change
    if change is None or change.last_offset is None or change.last_offset >= high_watermark:
        return
    finish_change(core, ErrorCode.NONE)


def finish_change(core: Core, error: ErrorCode, message: str = "") -> None:
    """End the pending change and answer its request. The appended voter set stays in force."""
    role = core.leader
    assert role.change is not None
    core.keep(replace(role, change=None))
    core.answer_change(role.change, error, message)
