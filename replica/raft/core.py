"""`Core`, the value that all handlers work on.

It has four parts: the facts (`View`, its base class), what peers have said about epochs
(`PeerEpochs`), what a leader keeps (`LeaderWork`), and what the host has to do (`Outbox`). Only the
methods of `Core` change its attributes. Each method changes the state and records the effect that
belongs to the change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeVar

from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.stored import ElectionState, LeaderAndEpoch, SnapshotFacts
from replica.model.voters import Endpoints
from replica.raft.config import FOREVER, Config
from replica.raft.effects import LogRead, SnapshotPart, SnapshotRead, Stopped
from replica.raft.epoch_bounds import MAX_EPOCH, PeerEpochs
from replica.raft.leader.work import LeaderWork
from replica.raft.log_state import LogState
from replica.raft.messages import (
    RESPONSE_OF,
    PeerRequest,
    PeerResponse,
    VoterChangeResponse,
    sender_of,
)
from replica.raft.mistakes import Mistake, Offence, Offences
from replica.raft.outbox import Outbox
from replica.raft.roles import (
    Follower,
    Leader,
    OlderLeader,
    PendingChange,
    Prospective,
    Resigned,
    Unattached,
)
from replica.raft.transitions import Role, Transition, TransitionCause, check
from replica.raft.view import View

Draw = Callable[[int], int]
"""A function of the host that gives a random number from 0 to its argument (exclusive)."""

_Response = TypeVar("_Response", bound=PeerResponse)


class Core(View):
    """The state of one replica, and the operations that change the state.

    stored: what quorum-state holds at the start.
    transitions: how the role changed in this step, in order.
    offences: the illegal messages of peers.
    """

    def __init__(
        self,
        config: Config,
        role: Role,
        log: LogState,
        draw: Draw,
        now_ms: int,
        stored: ElectionState | None = None,
    ) -> None:
        super().__init__(config, role, log, now_ms)
        self.transitions: tuple[Transition, ...] = ()
        self.offences = Offences()
        self.epochs = PeerEpochs(now_ms)
        self.work = LeaderWork(config)
        self.outbox = Outbox(config, stored)
        self.connections = self.outbox.connections
        self.draw = draw

    # The start, the steps and the end

    def start(self, role: Role) -> None:
        """Begin in the role that quorum-state and the log call for."""
        self.role = role
        self.persist()
        self.announce()

    def begin_step(self, now_ms: int) -> None:
        self.now, self.transitions = now_ms, ()

    def begin_shutdown(self, timeout_ms: int) -> None:
        """Begin a shutdown, which has to end within `timeout_ms`. A shutdown that has begun already
        goes on unchanged."""
        if self.shutdown_deadline is None:
            self.shutdown_deadline = self.now + timeout_ms

    def stop(self, how: Stopped) -> None:
        """End the shutdown. how: in time or by its timeout; the host gets this value as
        Effects.stopped."""
        self.stopped = True
        self.outbox.effects.stopped = how

    # Roles and epochs

    def election_timeout(self) -> int:
        """The time (ms) at which this replica stands in an election; FOREVER for a replica that may
        not stand."""
        return self.drawn_deadline() if self.may_stand else FOREVER

    def drawn_deadline(self) -> int:
        """A random time (ms) between one and two election timeouts from now."""
        timeout = self.config.election_timeout_ms
        return self.now + timeout + self.draw(timeout)

    def keep(self, role: Role) -> None:
        """Replace the role by a value of the same role and epoch in which other fields differ."""
        assert (type(role), role.epoch) == (type(self.role), self.role.epoch), "use become"
        self.role = role

    def become(self, cause: TransitionCause, role: Role) -> None:
        """Change the role, after a check that the transition is allowed.

        The host persists the new role before it sends anything. A leader that stops leading refuses
        the fetches and the change of voters that are waiting, and drops the records that wait for
        the end of the linger. Answers to requests of the old role are ignored, except after a vote
        for another replica.
        """
        former = self.role
        check(former, cause, role, self.local_id)
        self.transitions = (*self.transitions, Transition(type(former), cause, type(role)))
        if cause in (TransitionCause.HIGHER_EPOCH, TransitionCause.LEADER_FOUND):
            self.epochs.raised(former.epoch, role.epoch)
        if role.epoch > former.epoch:
            self.epochs.older_leader = None
        self.role = role
        self.persist()
        if cause is not TransitionCause.VOTED:
            self.connections.reset()
        self.announce()
        if isinstance(former, Leader):
            for fetch in self.work.drop():
                self.refuse(fetch.request_id, fetch.request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            if former.change is not None:
                self.answer_change(former.change, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def persist(self) -> None:
        """Have the host write quorum-state, if the role differs from what the file holds."""
        assert 0 <= self.role.epoch <= MAX_EPOCH, f"epoch {self.role.epoch} is no int32"
        version = self.log.kraft_version
        ids = self.log.voters.ids if version == 0 else ()
        role = self.role
        state = ElectionState(role.epoch, role.leader_id, role.voted, version, ids)
        self.outbox.persist(state)

    def announce(self) -> None:
        """Tell the host of a new leader or epoch (Effects.leader_change).

        A new leader is reported as leader only once all records of earlier epochs are committed. A
        resigned leader reports nothing until the next epoch.
        """
        role = self.role
        if isinstance(role, Resigned):
            return
        if isinstance(role, Leader) and role.high_watermark is None:
            return
        self.outbox.announce(LeaderAndEpoch(role.leader_id, role.epoch))

    def is_plausible_epoch(self, epoch: int) -> bool:
        """Whether elections can explain an epoch that a peer names."""
        return self.epochs.is_plausible(epoch, self.role.epoch, self.now)

    def learn(self, epoch: int, leader_id: int, named: Endpoints, *, heard: bool = False) -> None:
        """Adopt a newer epoch, or the leader of the current epoch
        (KafkaRaftClient.maybeTransition).

        heard: whether the leader itself sent the message. Only the leader's own message ends a
        pre-vote of the same epoch; messages of other replicas don't. The caller has checked
        has_consistent_leader. A replica doesn't follow a leader which may be the same node before
        its disk was wiped (View.may_be_former_self).
        """
        leader_id = NO_NODE if leader_id == self.local_id else leader_id
        endpoints = () if leader_id == NO_NODE else self.endpoints_of(leader_id, named)
        role = self.role
        if epoch > role.epoch:
            if endpoints:
                self.follow(epoch, leader_id, endpoints)
            else:
                self.detach(epoch, leader_id)
        elif epoch == role.epoch and endpoints:
            is_new = role.leader_id == NO_NODE or len(endpoints) > len(role.leader_endpoints)
            if is_new or (heard and isinstance(role, Prospective)):
                self.follow(epoch, leader_id, endpoints)

    def note_older_leader(self, epoch: int, leader_id: int, named: Endpoints) -> None:
        """Remember the leader of an older epoch that an answer names, if the answer gives the
        leader's endpoints and no leader of a newer epoch is known."""
        if leader_id in (NO_NODE, self.local_id) or epoch >= self.role.epoch:
            return
        endpoints = self.endpoints_of(leader_id, named)
        if endpoints:
            self.epochs.named(OlderLeader(epoch, leader_id, endpoints))

    def follow(self, epoch: int, leader_id: int, endpoints: Endpoints) -> None:
        """Become a follower of the leader `leader_id`."""
        voted = self.role.voted if epoch == self.role.epoch else None
        self.become(TransitionCause.LEADER_FOUND, self.follower(epoch, leader_id, endpoints, voted))

    def follower(
        self, epoch: int, leader_id: int, endpoints: Endpoints, voted: ReplicaKey | None
    ) -> Follower:
        """The role of a new follower, whose timeouts begin now. voted: the vote that this replica
        has given in this epoch."""
        wait = self.config.fetch_timeout_ms
        return Follower(
            epoch,
            leader_id,
            endpoints,
            fetch_deadline=self.now + wait,
            update_voter_deadline=self.now + 3 * wait,
            voted=voted,
        )

    def detach(self, epoch: int, leader_id: int = NO_NODE) -> None:
        """Become unattached in a newer epoch. A replica that waits for an election keeps its timer.
        A replica that had a leader, or was the leader, draws a new timer."""
        match self.role:
            case Follower() | Leader():
                deadline = FOREVER
            case _ as role:
                deadline = role.election_deadline
        if deadline == FOREVER or not self.may_stand:
            deadline = self.election_timeout()
        self.become(TransitionCause.HIGHER_EPOCH, Unattached(epoch, deadline, leader_id))

    def remember_joining(self) -> None:
        """Note that a committed voter set names this replica."""
        self.has_joined = True

    # The log and its snapshots

    @property
    def next_append_offset(self) -> int:
        """The offset of the next record: it comes after the log and the records that wait in the
        accumulator."""
        return self.log.log_end + self.work.accumulator.record_count

    def append(self, batches: Sequence[Batch]) -> None:
        """Append batches that start at the log end, and that a leader made or a follower
        fetched."""
        self.log = self.log.appended(batches)
        self.outbox.effects.append += batches

    def flushed(self, end_offset: int) -> None:
        """Note that the host has flushed the log up to this offset (exclusive)."""
        self.log = self.log.flushed(end_offset)

    def truncate(self, end_offset: int) -> None:
        """Cut the log, so that it ends at this offset (exclusive)."""
        self.log = self.log.truncated(end_offset)
        self.truncating = True
        self.outbox.effects.truncate_to = end_offset

    def truncated(self, end_offset: int) -> None:
        """Note that the host has cut the log, which now ends at this offset (exclusive)."""
        self.log = self.log.truncated(end_offset)
        self.truncating = False

    def commit_to(self, high_watermark: int) -> None:
        """Note that all records below `high_watermark` are committed, and have them applied."""
        if self.committed is None or high_watermark > self.committed:
            self.committed = high_watermark
            self.outbox.effects.commit = high_watermark

    def load(self, snapshot_id: OffsetAndEpoch) -> None:
        """Have the state machine load a snapshot, which holds committed records only."""
        self.outbox.effects.load_snapshot = snapshot_id
        self.commit_to(snapshot_id.offset)

    def add_snapshot(self, facts: SnapshotFacts) -> None:
        """Note a snapshot that the host has written or fetched."""
        self.log = self.log.with_snapshot(facts)

    def write_part(self, part: SnapshotPart) -> None:
        """Have the host write bytes of a fetched snapshot."""
        self.outbox.effects.snapshot_parts.append(part)

    def restart_at(self, facts: SnapshotFacts) -> None:
        """Drop the log, which is older than this snapshot, and restart the log at the snapshot's
        end offset."""
        self.log = self.log.reset_to(facts)
        self.outbox.effects.reset_to = facts.snapshot_id
        self.load(facts.snapshot_id)

    def start_log_at(self, offset: int) -> None:
        """Move the log start, and remove the snapshots below the new log start, including the
        bootstrap snapshot."""
        before = {each.snapshot_id for each in self.log.snapshots}
        self.log = self.log.started_at(offset)
        gone = before - {each.snapshot_id for each in self.log.snapshots}
        self.outbox.effects.log_start = offset
        self.outbox.effects.delete_snapshots = tuple(sorted(gone))

    # Messages

    def signed(self, response: _Response) -> _Response:
        """The response with the epoch and the leader that this replica knows."""
        return replace(
            response,
            epoch=self.role.epoch,
            leader_id=self.role.leader_id,
            leader_endpoints=self.role.leader_endpoints,
        )

    def reply(
        self,
        request_id: Hashable,
        response: PeerResponse,
        read: LogRead | SnapshotRead | None = None,
    ) -> None:
        self.outbox.reply(request_id, response, read)

    def answer_change(self, change: PendingChange, error: ErrorCode, message: str = "") -> None:
        """Answer the request for this change, unless it was answered already."""
        if not change.is_answered:
            response = VoterChangeResponse(error=error, message=message)
            self.reply(change.request_id, self.signed(response))

    def refuse(self, request_id: Hashable, request: PeerRequest, error: ErrorCode) -> None:
        """Answer the request with this error, and with the epoch and the leader that this replica
        knows."""
        self.reply(request_id, self.signed(RESPONSE_OF[type(request)](error=error)))

    def refuse_illegal(self, request_id: Hashable, request: PeerRequest, mistake: Mistake) -> None:
        """Answer INVALID_REQUEST to a request that no correct peer sends, and count the request."""
        self.blame(mistake, sender_of(request), type(request))
        self.refuse(request_id, request, ErrorCode.INVALID_REQUEST)

    def blame(
        self, mistake: Mistake, sender: int, message: type[PeerRequest | PeerResponse]
    ) -> None:
        """Count a message that no correct peer sends. sender: the node id of the peer that sent
        it."""
        self.offences.count(Offence(mistake, sender, message.__name__))

    def send(self, node_id: int, endpoints: Endpoints, message: PeerRequest) -> int:
        """Send a request, unless it may not be sent to the peer now. Returns when (ms) the next
        request may be sent to the peer."""
        return self.outbox.send(node_id, endpoints, message, self.now)
