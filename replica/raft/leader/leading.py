"""What a leader does without a peer's request: it begins its epoch, appends, announces itself and
resigns."""

from __future__ import annotations

from dataclasses import replace

from replica.errors import KraftlakeError, UsageError
from replica.format.record import batch_size
from replica.model.batch import Batch
from replica.model.control import ControlRecord, KRaftVersion, KRaftVoters, LeaderChange
from replica.model.kafka_errors import ErrorCode
from replica.model.voters import Voter, VoterSet
from replica.raft.config import FOREVER
from replica.raft.core import Core
from replica.raft.inputs import Append, Propose, Resign
from replica.raft.leader.replication import (
    append,
    append_control,
    append_if_idle,
    check_quorum_deadline,
    finish_change,
)
from replica.raft.messages import BeginQuorumEpochRequest
from replica.raft.quorum_epochs import resigned
from replica.raft.roles import Candidate, Leader
from replica.raft.transitions import TransitionCause


class NotLeaderError(KraftlakeError):
    """This replica doesn't lead the epoch of the append; ask the current leader."""


class RecordBatchTooLargeError(KraftlakeError):
    """A batch is larger than Config.max_batch_bytes; nothing was appended."""


def lead(core: Core, candidate: Candidate) -> None:
    """Become the leader, and append the control records of the epoch's start in one batch."""
    local = core.local
    assert local is not None
    leader = Leader(
        epoch=candidate.epoch,
        local=local.key,
        leader_endpoints=local.endpoints,
        epoch_start=core.log.log_end,
        check_quorum_deadline=check_quorum_deadline(core),
        begin_deadline=core.now,
        learned={local.key.node_id: local},
    )
    core.become(TransitionCause.MAJORITY_GRANTED, leader)
    append_control(core, *_start_of_epoch(core, candidate, local))


def handle_propose(core: Core, propose: Propose) -> None:
    """Append encoded batches at once. Effects.append has their offsets.

    Raises NotLeaderError if this replica doesn't lead the epoch, RecordBatchTooLargeError if a
    batch is too large, and UsageError for a future epoch.
    """
    _check_leads(core, propose.epoch)
    _check_size(core, max((len(batch.data) for batch in propose.batches), default=0))
    batches = []
    base = core.next_append_offset
    for proposal in propose.batches:
        last = base + proposal.record_count - 1
        batches.append(Batch(base, last, core.role.epoch, core.now, data=proposal.data))
        base = last + 1
    append(core, batches)


def handle_append(core: Core, request: Append) -> None:
    """Put records into the accumulator. The records are appended when the linger is over, just
    before the next batch that is appended at once, or when all earlier records are committed
    (Config.append_when_idle). Raises NotLeaderError if this replica doesn't lead the epoch,
    RecordBatchTooLargeError if the records don't fit into one batch, BufferAllocationError if the
    accumulator is full, and UsageError for a future epoch."""
    _check_leads(core, request.epoch)
    _check_size(core, batch_size(request.values))
    core.work.accumulator.append(request.values, core.now)


def handle_resign(core: Core, resign: Resign) -> None:
    """Resign because the state machine asks for it. A request for an older epoch is ignored. Raises
    NotLeaderError if this replica doesn't lead the epoch, and UsageError for a future epoch."""
    role = core.role
    if resign.epoch > role.epoch:
        raise UsageError(
            f"asked to resign from epoch {resign.epoch}, but the newest known is {role.epoch}"
        )
    if resign.epoch < role.epoch:
        return
    if not isinstance(role, Leader):
        raise NotLeaderError(f"this replica is not the leader of epoch {resign.epoch}")
    core.keep(replace(role, resign_requested=True))


def poll_leader(core: Core, role: Leader) -> int:
    """Do what is due: resign, end a pending change, announce the epoch, or append the waiting
    records. Returns the next deadline in ms."""
    if core.shutdown_deadline is not None or role.resign_requested:
        _resign(core, role, TransitionCause.RESIGNED)
        return core.now
    if role.check_quorum_deadline <= core.now and not core.is_only_voter:
        _resign(core, role, TransitionCause.TIMEOUT)
        return core.now
    if role.change is not None and role.change.deadline <= core.now:
        finish_change(core, ErrorCode.REQUEST_TIMED_OUT, "the change was not committed in time")
    if role.begin_deadline <= core.now:
        _send_begin(core)
    if core.work.accumulator.deadline <= core.now:
        append(core)
    append_if_idle(core)
    role = core.leader
    check = FOREVER if core.is_only_voter else role.check_quorum_deadline
    expiry = FOREVER if role.change is None else role.change.deadline
    return min(check, role.begin_deadline, expiry, core.work.accumulator.deadline)


def _check_leads(core: Core, epoch: int) -> None:
    role = core.role
    if epoch > role.epoch:
        raise UsageError(f"asked to append in epoch {epoch}, but the newest known is {role.epoch}")
    if not isinstance(role, Leader) or epoch < role.epoch or role.resign_requested:
        raise NotLeaderError(f"this replica is not the leader of epoch {epoch}")


def _check_size(core: Core, size: int) -> None:
    limit = core.config.max_batch_bytes
    if size > limit:
        raise RecordBatchTooLargeError(
            f"the batch has {size} bytes, at most {limit} are allowed: send fewer records at a time"
        )


def _start_of_epoch(core: Core, candidate: Candidate, local: Voter) -> list[ControlRecord]:
    """The control records of the epoch's first batch. The first record is always LeaderChange. At
    kraft.version 1, KRaftVersion and KRaftVoters follow if only the bootstrap snapshot 0-0 names
    the voters, or if the leader's own entry in the voter set is out of date."""
    voters = core.log.voters
    keys = {voter.key.node_id: voter.key for voter in voters}
    granting = tuple(keys[node_id] for node_id in sorted(candidate.tally.granted))
    change = LeaderChange(local.key.node_id, tuple(v.key for v in voters), granting)
    if core.log.kraft_version == 0:
        return [change]
    updated = with_updated(voters, local)
    if core.log.voters_offset != -1 and updated == voters:
        return [change]
    return [change, KRaftVersion(core.log.kraft_version), KRaftVoters(updated)]


def with_updated(voters: VoterSet, voter: Voter) -> VoterSet:
    """The voter set in which `voter` replaces the entry with the same key. Without such an entry
    the voter set stays the same."""
    known = voters.voter(voter.key.node_id)
    if known is None or known.key != voter.key:
        return voters
    return voters.with_voter(voter)


def _send_begin(core: Core) -> None:
    """Send BeginQuorumEpoch to all other voters. A leader repeats the request after half a fetch
    timeout."""
    role = core.leader
    for voter in core.log.voters.others(role.local):
        request = BeginQuorumEpochRequest(
            epoch=role.epoch,
            leader_id=role.leader_id,
            leader_endpoints=role.leader_endpoints,
            voter=voter.key,
        )
        core.send(voter.key.node_id, voter.endpoints, request)
    core.keep(replace(role, begin_deadline=core.now + core.config.fetch_timeout_ms // 2))


def _resign(core: Core, role: Leader, cause: TransitionCause) -> None:
    core.become(cause, resigned(core, role.epoch, role.successors(core.log.voters)))
