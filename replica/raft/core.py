"""`Core`, the value that all handlers work on: the role, the view of the log, the step's effects.

`Core` is the mutable shell around frozen values. It has the few operations that every handler
needs. Each of them changes the state and records the effect that belongs to the change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeVar

from replica.model.batch import Batch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.stored import ElectionState, LeaderAndEpoch
from replica.model.voters import Endpoints, Voter
from replica.raft.config import FOREVER, Config
from replica.raft.connections import PeerConnections
from replica.raft.effects import Effects, LogRead, Reply, Send, SnapshotRead
from replica.raft.epoch_bounds import MAX_EPOCH, is_explained
from replica.raft.leader.accumulator import BatchAccumulator
from replica.raft.leader.observers import ObserverProgress
from replica.raft.leader.parked import ParkedFetches
from replica.raft.log_state import LogState
from replica.raft.messages import (
    RESPONSE_OF,
    PeerRequest,
    PeerResponse,
    VoterChangeResponse,
)
from replica.raft.mistakes import Offence
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

Draw = Callable[[int], int]
"""Randomness from the host: a number from 0 to the argument (exclusive)."""

_Response = TypeVar("_Response", bound=PeerResponse)


class Core:
    """The state of one replica. Handlers set `role` by `become` or `keep`. Where they set `log`,
    they also record the effect that changes the real log."""

    def __init__(self, config: Config, role: Role, log: LogState, draw: Draw) -> None:
        self.config = config
        self.role = role
        self.log = log
        self.draw = draw
        self.now = 0
        self.effects = Effects()
        """What the host has to do after this step, as far as handlers have filled it in. The value
        of an earlier step belongs to the host (see Effects)."""
        self.transitions: tuple[Transition, ...] = ()
        """How the role changed in this step, in order."""
        self.connections = PeerConnections(config.request_timeout_ms, config.retry_backoff_ms)
        self.committed: int | None = None
        """This replica knows that all records below this offset are committed. No change of role or
        epoch takes that back."""
        self.parked = ParkedFetches()
        self.observers = ObserverProgress()
        """The observers of the local leader; empty in every other role, as `parked` is."""
        self.accumulator = BatchAccumulator(
            config.append_linger_ms, config.max_batch_bytes, config.max_pending_batches
        )
        """Records of the local leader's state machine; empty in every other role."""
        self.persisted: ElectionState | None = None
        self.announced: LeaderAndEpoch | None = None
        self.truncating = False
        """Whether the log is being cut, and the host has not yet said where it ends."""
        self.has_joined = False
        """Whether a committed voter set has named this replica since it started."""
        self.shutdown_deadline: int | None = None
        self.stopped = False
        self.illegal: Counter[Offence] = Counter()
        """How many illegal messages peers have sent, for each kind of mistake."""
        self.began = 0
        """The time (ms) at which this replica started."""
        self.older_leader: OlderLeader | None = None
        """The newest older leader that answers have named since this replica entered its epoch."""
        self._raised = 0
        """The number of epochs by which peers have raised the local epoch since `began`."""

    @property
    def local(self) -> Voter | None:
        return self.config.local

    @property
    def local_key(self) -> ReplicaKey | None:
        return None if self.config.local is None else self.config.local.key

    @property
    def local_id(self) -> int:
        return NO_NODE if self.config.local is None else self.config.local.key.node_id

    @property
    def is_voter(self) -> bool:
        """Whether the voter set in force names the local replica. A replica that it doesn't name is
        an observer."""
        return self.local_key is not None and self.log.voters.is_voter(self.local_key)

    @property
    def may_stand(self) -> bool:
        """Whether this replica stands in elections: a voter does, and a removed voter does until it
        knows that its removal is committed, unless the configuration says otherwise.

        In Kafka a removed voter doesn't stand. Suppose that one of two voters leads, appends its
        own removal and restarts. The other voter can't win: it needs the vote of the first, and
        gets none, as its log lacks the removal. So in Kafka that quorum never elects a leader again
        (Ongaro's dissertation, 4.2.2).
        """
        if self.local_key is None:
            return False
        if self.is_voter:
            return True
        if not self.config.removed_voter_stands:
            return False
        since = self.log.voters_since((self.committed or 0) - 1)
        return any(voters.is_voter(self.local_key) for voters in since)

    @property
    def high_watermark(self) -> int | None:
        """The high watermark (exclusive) that this replica tells others. For a new leader it is
        None at first, whatever the replica knew as a follower."""
        return self.role.high_watermark if isinstance(self.role, Leader) else self.committed

    @property
    def next_append_offset(self) -> int:
        """The offset of the next record that is appended: it follows the log and the records that
        wait in the accumulator."""
        return self.log.log_end + self.accumulator.record_count

    @property
    def leader(self) -> Leader:
        """The local role as a Leader. Only callers that know that this replica leads may ask. In
        every role, `role.leader_id` says which node leads."""
        assert isinstance(self.role, Leader)
        return self.role

    def is_local(self, key: ReplicaKey) -> bool:
        """Whether `key` means this replica."""
        return self.local_key is not None and key.matches(self.local_key)

    @property
    def is_only_voter(self) -> bool:
        return self.is_voter and len(self.log.voters) == 1

    def election_timeout(self) -> int:
        """The time (ms) at which this replica will stand in an election; FOREVER for a replica that
        stands in none."""
        return self.drawn_deadline() if self.may_stand else FOREVER

    def drawn_deadline(self) -> int:
        """A random time (ms) between one and two election timeouts from now."""
        timeout = self.config.election_timeout_ms
        return self.now + timeout + self.draw(timeout)

    def keep(self, role: Role) -> None:
        """Set a value of the same role in the same epoch that differs in its other fields."""
        assert (type(role), role.epoch) == (type(self.role), self.role.epoch), "use become"
        self.role = role

    def become(self, cause: TransitionCause, role: Role) -> None:
        """Change the role, after a check that the transition is allowed.

        The host persists the new role before it sends anything. A replica that stops leading
        refuses the fetches and the change of voters that waited for it, and drops the records that
        waited for the end of the linger. Answers to the requests of the old role are ignored.
        """
        check(self.role, cause, role, self.local_id)
        self.transitions = (*self.transitions, Transition(type(self.role), cause, type(role)))
        if (
            cause in (TransitionCause.HIGHER_EPOCH, TransitionCause.LEADER_FOUND)
            and self.role.epoch > 0
        ):
            self._raised += role.epoch - self.role.epoch
        if role.epoch > self.role.epoch:
            self.older_leader = None
        was_leader = isinstance(self.role, Leader)
        change = self.role.change if isinstance(self.role, Leader) else None
        self.role = role
        self.persist()
        if cause is not TransitionCause.VOTED:
            self.connections.reset()
        self.announce()
        if was_leader:
            self.accumulator.drain()
            self.observers.clear()
            for fetch in self.parked.take_all():
                self.refuse(fetch.request_id, fetch.request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            if change is not None:
                self.answer_change(change, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def persist(self) -> None:
        """Have the host write quorum-state, if the epoch, the leader or the vote differ from those
        on disk."""
        assert 0 <= self.role.epoch <= MAX_EPOCH, f"epoch {self.role.epoch} is no int32"
        version = self.log.kraft_version
        state = ElectionState(
            self.role.epoch,
            self.role.leader_id,
            self.role.voted,
            version,
            self.log.voters.ids if version == 0 else (),
        )
        if _persisted_part(state) != _persisted_part(self.persisted):
            self.persisted = state
            self.effects.quorum_state = state

    def announce(self) -> None:
        """Tell the host of a leader or epoch that it wasn't told of yet (Effects.leader_change).

        A new leader tells of itself only once all records of earlier epochs are committed. A
        resigned leader tells nothing until the next epoch.
        """
        role = self.role
        if isinstance(role, Resigned):
            return
        if isinstance(role, Leader) and role.high_watermark is None:
            return
        leader = LeaderAndEpoch(role.leader_id, role.epoch)
        if leader != self.announced:
            self.announced = leader
            self.effects.leader_change = leader

    def commit_to(self, high_watermark: int) -> None:
        """Note that all records below `high_watermark` are committed, and have them applied."""
        if self.committed is None or high_watermark > self.committed:
            self.committed = high_watermark
            self.effects.commit = high_watermark

    def append(self, batches: Sequence[Batch]) -> None:
        """Append batches that start at the log end: those that a leader made, or those that a
        follower fetched."""
        self.log = self.log.appended(batches)
        self.effects.append += batches

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
        self.effects.replies.append(Reply(request_id, response, read))

    def answer_change(self, change: PendingChange, error: ErrorCode, message: str = "") -> None:
        """Answer the request for a change of the quorum, unless that request was answered
        already."""
        if not change.is_answered:
            response = VoterChangeResponse(error=error, message=message)
            self.reply(change.request_id, self.signed(response))

    def refuse(self, request_id: Hashable, request: PeerRequest, error: ErrorCode) -> None:
        """Answer with an error and nothing else."""
        self.reply(request_id, self.signed(RESPONSE_OF[type(request)](error=error)))

    def refuse_illegal(self, request_id: Hashable, request: PeerRequest, offence: Offence) -> None:
        """Answer INVALID_REQUEST to a request that no correct peer sends, and count it."""
        self.illegal[offence] += 1
        self.refuse(request_id, request, ErrorCode.INVALID_REQUEST)

    def send(self, node_id: int, endpoints: Endpoints, message: PeerRequest) -> int:
        """Send a request with the cluster's id. Nothing is sent while another request to that peer
        is in flight, during the pause after a failed one, or before the same request may be sent
        again. Returns when (ms) the peer can be asked next."""
        sendable_at = self.connections.sendable_at(node_id, message)
        if sendable_at > self.now:
            return sendable_at
        correlation_id = self.connections.sent(node_id, self.now, message)
        request = replace(message, cluster_id=self.config.cluster_id)
        self.effects.sends.append(Send(node_id, endpoints, correlation_id, request))
        return self.connections.ready_at(node_id)

    def endpoints_of(self, node_id: int, named: Endpoints) -> Endpoints:
        """Where a leader listens: at the endpoints that a message `named`; where it named none, at
        those in the voter set."""
        if named:
            return named
        voter = self.log.voters.voter(node_id)
        return () if voter is None else voter.endpoints

    def explains(self, epoch: int) -> bool:
        """Whether elections can explain an epoch that a peer names. If they can't, the message
        counts as illegal."""
        found = is_explained(epoch, self.role.epoch, self._raised, self.now - self.began)
        if not found:
            self.illegal[Offence.UNEXPLAINED_EPOCH] += 1
        return found

    def has_consistent_leader(self, epoch: int, leader_id: int) -> bool:
        """Whether a message that names this leader of this epoch can be true: an epoch has at most
        one leader."""
        if NO_NODE != leader_id == self.local_id:
            return epoch == self.role.epoch and self.role.leader_id == leader_id
        if epoch != self.role.epoch or leader_id == NO_NODE:
            return True
        return self.role.leader_id in (NO_NODE, leader_id)

    def may_be_former_self(self, epoch: int, leader_id: int) -> bool:
        """Whether the local node may have led this epoch before its disk was wiped.

        Responses name leaders by node id alone, without the directory. A voter knows every epoch in
        which its directory led. A replica outside of the voter set doesn't, and neither does a
        voter of a static quorum whose log is empty.
        """
        is_blank = self.log.voters_offset is None and self.log.log_end == 0
        if leader_id != self.local_id or (self.is_voter and not is_blank):
            return False
        return epoch > self.role.epoch or self.role.leader_id == NO_NODE

    def learn(self, epoch: int, leader_id: int, named: Endpoints, *, heard: bool = False) -> None:
        """Adopt a newer epoch, or the leader of the current epoch
        (KafkaRaftClient.maybeTransition).

        heard: whether the leader itself sent the message. Only the leader's own message ends a
        pre-vote of the same epoch; what other replicas believe doesn't. The caller has checked
        has_consistent_leader. A replica doesn't follow its own former self.
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
        """Remember the leader of an older epoch that an answer names, if it says where that leader
        listens and no leader of a newer one is known."""
        if leader_id in (NO_NODE, self.local_id) or epoch >= self.role.epoch:
            return
        endpoints = self.endpoints_of(leader_id, named)
        if endpoints and (self.older_leader is None or self.older_leader.epoch <= epoch):
            self.older_leader = OlderLeader(epoch, leader_id, endpoints)

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
        """Become unattached in a newer epoch. A replica that waits for an election keeps its timer;
        one that had a leader, or was the leader, draws a new timer."""
        match self.role:
            case Follower() | Leader():
                deadline = FOREVER
            case _ as role:
                deadline = role.election_deadline
        if deadline == FOREVER or not self.may_stand:
            deadline = self.election_timeout()
        self.become(TransitionCause.HIGHER_EPOCH, Unattached(epoch, deadline, leader_id))


def _persisted_part(state: ElectionState | None) -> object:
    return None if state is None else (state.epoch, state.leader_id, state.voted)
