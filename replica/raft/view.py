"""`View`: what a replica knows about itself and its quorum, and what follows from this
knowledge."""

from __future__ import annotations

from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Endpoints, Voter
from replica.raft.config import Config
from replica.raft.log_state import LogState
from replica.raft.roles import Leader
from replica.raft.transitions import Role


class View:
    """The facts that handlers read. Only `Core` changes them.

    role: the local role in its epoch.
    log: the view of the log.
    now: the time (ms) of this step.
    committed: this replica knows that all records below this offset are committed; None while it
        knows no such offset. The offset never falls, whatever role or epoch follows.
    truncating: whether the host is truncating the log and has not yet reported its new end.
    has_joined: whether a committed voter set has named this replica since it started.
    shutdown_deadline: when (ms) the shutdown in progress has to end; None if no shutdown is in
        progress.
    stopped: whether the shutdown is over.
    """

    def __init__(self, config: Config, role: Role, log: LogState, now_ms: int) -> None:
        self.config = config
        self.role = role
        self.log = log
        self.now = now_ms
        self.committed: int | None = None
        self.truncating = False
        self.has_joined = False
        self.shutdown_deadline: int | None = None
        self.stopped = False

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
        """Whether the voter set in force names the local replica. Every other replica is an
        observer."""
        return self.local_key is not None and self.log.voters.is_voter(self.local_key)

    @property
    def may_stand(self) -> bool:
        """Whether this replica may stand in elections: True for a voter, and for a removed voter
        until it knows that its removal is committed (unless Config.removed_voter_stands is False).

        In Kafka a removed voter doesn't stand. Suppose that one of two voters leads, appends its
        own removal and restarts. The other voter needs the vote of the first, and doesn't get this
        vote, because the other voter's log lacks the removal. So in Kafka this quorum never elects
        a leader again (Ongaro's dissertation, 4.2.2).
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
        """The high watermark (exclusive) that this replica sends to others. None for a new leader,
        whatever the replica knew as a follower."""
        return self.role.high_watermark if isinstance(self.role, Leader) else self.committed

    @property
    def leader(self) -> Leader:
        """The local role as a Leader. Only callers that know that this replica leads may read this
        property. In every role, `role.leader_id` is the id of the leader."""
        assert isinstance(self.role, Leader)
        return self.role

    def is_local(self, key: ReplicaKey) -> bool:
        """Whether `key` is the key of this replica."""
        return self.local_key is not None and key.matches(self.local_key)

    @property
    def is_only_voter(self) -> bool:
        return self.is_voter and len(self.log.voters) == 1

    def endpoints_of(self, node_id: int, named: Endpoints) -> Endpoints:
        """The endpoints of a node. named: the endpoints that a message gave for the node, which
        count first; without any, those in the voter set."""
        if named:
            return named
        voter = self.log.voters.voter(node_id)
        return () if voter is None else voter.endpoints

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
        which its directory led. A replica outside of the voter set doesn't know this, and neither
        does a voter of a static quorum with an empty log.
        """
        is_blank = self.log.voters_offset is None and self.log.log_end == 0
        if leader_id != self.local_id or (self.is_voter and not is_blank):
            return False
        return epoch > self.role.epoch or self.role.leader_id == NO_NODE
