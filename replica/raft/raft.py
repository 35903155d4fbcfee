"""`Raft`: one replica of the quorum, stepped by its host.

A replica starts as in QuorumState.initialize: it remembers the epoch in which it led or voted, and
never leads or votes twice in one epoch. A replica with a corrupt quorum-state doesn't start,
because the store refuses to read the file. (Kafka starts, and forgets the vote.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from replica.errors import UsageError
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.stored import ElectionState, LogFacts
from replica.raft import inputs, snapshots
from replica.raft.config import FOREVER, Config
from replica.raft.core import Core, Draw
from replica.raft.dispatch import handle_failed, handle_request, handle_response
from replica.raft.effects import Effects, Stopped
from replica.raft.election import own_tally, poll_candidate, poll_prospective, poll_unattached
from replica.raft.follower.fetching import poll_follower
from replica.raft.follower.voter_updates import may_join, remember_joining
from replica.raft.leader.leading import handle_append, handle_propose, handle_resign, poll_leader
from replica.raft.leader.replication import expire_parked, update_high_watermark
from replica.raft.log_start import handle_clean
from replica.raft.log_state import LogState, opened
from replica.raft.mistakes import HostError, Offence
from replica.raft.quorum_epochs import poll_resigned, resigned
from replica.raft.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    ReplicaProgress,
    Resigned,
    Unattached,
)
from replica.raft.transitions import Role, Transition

_MOST_TRANSITIONS = 8
"""The most changes of role in one step. The only voter of a quorum changes its role four times to
get from resigned to leader."""


class Raft:
    """One replica of the quorum.

    config: its settings.
    log: what its log holds at the start.
    state: the content of quorum-state; None for a replica that never wrote this file.
    draw: a function of the host that gives a random number from 0 to its argument (exclusive).
    now_ms: the time in ms.

    The constructor raises UsageError if quorum-state can't be the file of this replica. The first
    step also returns the effects of the start.
    """

    def __init__(
        self,
        config: Config,
        log: LogFacts,
        state: ElectionState | None,
        draw: Draw,
        now_ms: int,
    ) -> None:
        view = opened(log, config.static_voters)
        core = self._core = Core(config, Unattached(0), view, draw, now_ms, state)
        newest = view.snapshots[-1] if view.snapshots else None
        if newest is not None and view.is_older_than(newest.snapshot_id):
            core.restart_at(newest)
        elif newest is not None and newest.snapshot_id != BOOTSTRAP_SNAPSHOT:
            # a snapshot holds committed records only; a leader says later which other records are
            # committed
            core.load(newest.snapshot_id)
        core.start(_initial_role(core, state))
        self._deadline = now_ms

    def step(self, event: inputs.Input, now_ms: int) -> Effects:
        """Take one input at `now_ms`, which never falls, and return the effects that the host has
        to carry out.

        Raises HostError if the host breaks a rule of `inputs` or `Effects`. Raises NotLeaderError,
        RecordBatchTooLargeError, BufferAllocationError or UsageError if the host's state machine
        asks for something that can't be done. After any of these errors, nothing has changed. After
        TruncationBelowHighWatermarkError and ClusterAuthorizationError the replica must stop.
        """
        core = self._core
        _check_host(core, event, now_ms)
        core.begin_step(now_ms)
        _handle(core, event)
        self._deadline = _poll(core)
        return core.outbox.take()

    def next_deadline(self) -> int:
        """The time (ms) by which the host has to make the next step; FOREVER if no step is due."""
        return self._deadline

    def may_create_snapshot(self, snapshot_id: OffsetAndEpoch) -> bool:
        """Whether to write a snapshot with this id: False if the snapshot exists already, or ends
        below the log start. Raises UsageError for an id that is not a position of the committed
        log."""
        return snapshots.may_create(self._core, snapshot_id)

    @property
    def local_id(self) -> int:
        """The node id of this replica; NO_NODE if this replica has no node id."""
        return self._core.local_id

    @property
    def role(self) -> Role:
        return self._core.role

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """The changes of role in the newest step, in order; empty if the role didn't change."""
        return self._core.transitions

    @property
    def log(self) -> LogState:
        return self._core.log

    @property
    def observers(self) -> Mapping[ReplicaKey, ReplicaProgress]:
        """The progress of the logs of this leader's observers; empty if this replica doesn't
        lead."""
        return self._core.work.observers.view

    @property
    def is_voter(self) -> bool:
        return self._core.is_voter

    @property
    def is_joining(self) -> bool:
        """Whether this replica wants to become a voter, and isn't a voter yet."""
        return may_join(self._core)

    @property
    def high_watermark(self) -> int | None:
        """The high watermark (exclusive) that this replica sends to others; None while the high
        watermark is unknown."""
        return self._core.high_watermark

    @property
    def next_append_offset(self) -> int:
        """The offset of the first record of the next Append or Propose, while this replica
        leads."""
        return self._core.next_append_offset

    @property
    def leader_watermark(self) -> int | None:
        """The high watermark (exclusive) that the leader named last; None if the leader has named
        none. This high watermark may lie above the local log end (KIP-392)."""
        role = self._core.role
        return role.leader_watermark if isinstance(role, Follower) else self._core.high_watermark

    @property
    def illegal_messages(self) -> Mapping[Offence, int]:
        """The number of times that peers have sent each illegal message, by message and sender. The
        value changes with the steps; callers only read it."""
        return self._core.offences.counts


def _check_host(core: Core, event: inputs.Input, now_ms: int) -> None:
    """Raises HostError if the host may not give this input now."""
    if now_ms < core.now:
        raise HostError(f"the time of a step is {now_ms} ms, after one at {core.now} ms")
    match event:
        case inputs.Truncated():
            if not core.truncating:
                raise HostError("Truncated, but the core asked for no truncation")
            end, log_end = event.end_offset, core.log.log_end
            if not core.log.log_start <= end <= log_end:
                raise HostError(f"the log was to be cut at offset {log_end}, but ends at {end}")
        case _ if core.truncating:
            name = type(event).__name__
            raise HostError(f"{name} before Truncated, which answers Effects.truncate_to first")
        case inputs.Flushed() if event.end_offset > core.log.log_end:
            end, log_end = event.end_offset, core.log.log_end
            raise HostError(f"flushed up to offset {end}, but the log ends at {log_end}")
        case inputs.Append() if not event.values:
            raise HostError("an Append without records")


def _initial_role(core: Core, state: ElectionState | None) -> Role:
    election = state or ElectionState(0)
    if election.voted is not None and core.local is None:
        raise UsageError("quorum-state holds a vote, but this replica has no node id: set node.id")
    newest = core.log.position.epoch
    if election.epoch < newest:
        return Unattached(newest, core.election_timeout())
    epoch, leader_id, voted = election.epoch, election.leader_id, election.voted
    led = leader_id == core.local_id != NO_NODE
    if core.is_only_voter:
        # the only voter of a quorum stands at once; if it led this epoch, it has voted for itself
        return Unattached(epoch, core.now, voted=core.local_key if led else voted)
    if led:
        # the replica must not lead this epoch again: it may have lost records that it appended in
        # it
        return resigned(core, epoch)
    stood = voted is not None and core.is_local(voted) and leader_id == NO_NODE
    if stood and core.may_stand and core.local_key is not None:
        return Candidate(epoch, own_tally(core), core.election_timeout(), core.local_key)
    endpoints = () if leader_id == NO_NODE else core.endpoints_of(leader_id, ())
    if endpoints:
        return core.follower(epoch, leader_id, endpoints, voted)
    return Unattached(epoch, core.election_timeout(), leader_id, voted)


def _poll(core: Core) -> int:
    """Do everything that is due in the current role. Returns the next deadline in ms."""
    expire_parked(core)
    remember_joining(core)
    for _ in range(_MOST_TRANSITIONS):
        _complete_shutdown(core)
        if core.stopped:
            return FOREVER
        deadline = _poll_role(core, core.role)
        if deadline > core.now:
            return min(deadline, core.work.parked.deadline)
    raise AssertionError(f"{type(core.role).__name__} never comes to rest")


def _complete_shutdown(core: Core) -> None:
    """End the shutdown if another leader is known, if no other leader is needed, or if its timeout
    is over."""
    if core.shutdown_deadline is None or core.stopped:
        return
    role = core.role
    has_other_leader = role.leader_id not in (NO_NODE, core.local_id)
    if not core.is_voter or core.is_only_voter or has_other_leader:
        core.stop(Stopped.GRACEFULLY)
    elif core.shutdown_deadline <= core.now:
        core.stop(Stopped.BY_TIMEOUT)


def _handle(core: Core, event: inputs.Input) -> None:
    match event:
        case inputs.Tick():
            pass
        case inputs.Request():
            handle_request(core, event)
        case inputs.Response():
            handle_response(core, event)
        case inputs.Failed():
            handle_failed(core, event)
        case inputs.Propose():
            handle_propose(core, event)
        case inputs.Append():
            handle_append(core, event)
        case inputs.Resign():
            handle_resign(core, event)
        case inputs.Clean():
            handle_clean(core, event)
        case _:
            _handle_report(core, event)


def _handle_report(core: Core, event: inputs.HostReport) -> None:
    match event:
        case inputs.Flushed():
            core.flushed(event.end_offset)
            if isinstance(core.role, Leader):
                update_high_watermark(core)
        case inputs.Truncated():
            core.truncated(event.end_offset)
        case inputs.SnapshotFrozen():
            core.add_snapshot(event.facts)
        case inputs.SnapshotFetched():
            snapshots.handle_fetched(core, event.facts)
        case inputs.SnapshotRejected():
            snapshots.handle_rejected(core, event.snapshot_id)
        case inputs.Shutdown():
            core.begin_shutdown(event.timeout_ms)
        case _:
            assert_never(event)


def _poll_role(core: Core, role: Role) -> int:
    match role:
        case Unattached():
            return poll_unattached(core, role)
        case Prospective():
            return poll_prospective(core, role)
        case Candidate():
            return poll_candidate(core, role)
        case Follower():
            return poll_follower(core, role)
        case Leader():
            return poll_leader(core, role)
        case Resigned():
            return poll_resigned(core, role)
        case _:
            assert_never(role)
