"""The one partition that a node serves, as clients see it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from replica.history.fetch import validate_leader_epoch
from replica.history.log import OffsetRange
from replica.model.epochs import UNDEFINED_EPOCH
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Endpoint
from replica.node.driver import Driver
from replica.node.settings import Topic
from replica.raft.raft import Raft
from replica.raft.roles import Leader, ReplicaProgress


async def _at_once(address: str) -> None:
    """The default of ServedPartition.turn: the reader never waits."""


@dataclass(slots=True)
class ServedPartition:
    """The partition as clients see it."""

    topic: Topic
    driver: Driver
    """The driver of the replica that serves the partition."""
    endpoints: tuple[Endpoint, ...]
    """This node's own endpoints, each with the name of its listener."""
    rack: str = ""
    node_id: int = NO_NODE
    """The id by which clients know this node. An anonymous observer has an id for clients too."""
    always_leads: bool = False
    """Whether this node presents itself as the leader, as an observer of another quorum does,
    because its clients know no other node."""
    uncommitted_is_empty: bool = False
    """Whether a fetch of offsets that may be uncommitted gets an answer without records, as in
    released Kafka, instead of OFFSET_NOT_AVAILABLE (KIP-392)."""
    turn: Callable[[str], Awaitable[None]] = _at_once
    """A function that is awaited with the reader's address before expensive work. The function
    waits for the reader's turn."""
    racks: dict[int, str] = field(default_factory=dict)
    """The racks that fetching replicas named, by node id."""
    fetches: int = 0
    """The number of readers' fetches that got records."""
    unregistering: asyncio.Lock = field(default_factory=asyncio.Lock)
    """A lock that is held while a controller is being unregistered."""

    @property
    def raft(self) -> Raft:
        """The consensus core of the replica. Callers may only read the core."""
        return self.driver.raft

    @property
    def epoch(self) -> int:
        return self.raft.role.epoch

    @property
    def leads(self) -> bool:
        return self.always_leads or isinstance(self.raft.role, Leader)

    @property
    def leader_id(self) -> int:
        """The leader's node id; NO_NODE if no leader is known, or if this replica is a leader that
        has resigned, so that clients ask the other nodes."""
        if self.leads:
            return self.node_id
        known = self.raft.role.leader_id
        return NO_NODE if known == self.node_id else known

    @property
    def leader_epoch(self) -> int:
        """The epoch of the leader in answers to clients; while there is no leader, the newest epoch
        in the log.

        Clients get the epoch of an election only after a leader is elected. Otherwise librdkafka
        would treat its position as valid in this epoch, and would read on past the offset at which
        the logs diverge.
        """
        without_one = self.leader_id == NO_NODE
        return self.raft.log.last_epoch if without_one else self.epoch

    @property
    def committed(self) -> int | None:
        """The high watermark (exclusive), but at least the start of this log, and at most the end
        of this log. None while the high watermark is unknown."""
        known = self.raft.high_watermark
        log = self.raft.log
        return None if known is None else max(min(known, log.log_end), log.log_start)

    @property
    def readable(self) -> OffsetRange:
        """The offsets that readers get from this node: from the log start (inclusive) to the high
        watermark (exclusive). Empty while the high watermark is unknown."""
        log = self.raft.log
        committed = self.committed
        return OffsetRange(log.log_start, log.log_start if committed is None else committed)

    def refusal(self, asked_epoch: int, *, leader_alone: bool) -> ErrorCode:
        """The error for a client that names the leader epoch `asked_epoch` (-1: no epoch); NONE if
        this replica may answer. Any replica reports a wrong epoch first (KIP-320). leader_alone:
        whether only the leader may answer this request."""
        if asked_epoch != UNDEFINED_EPOCH:
            error = validate_leader_epoch(self.epoch, asked_epoch)
            if error is not None:
                return error
        may_answer = self.leads or not leader_alone
        return ErrorCode.NONE if may_answer else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def preferred_replica(self, rack: str) -> int | None:
        """The in-sync voter in the client's rack that has the highest log end (KIP-392; Kafka:
        RackAwareReplicaSelector). None if the client should read from this replica: the client
        names no rack, this replica doesn't lead or is in the client's rack, or there is no such
        voter."""
        role = self.raft.role
        if not rack or not isinstance(role, Leader) or self.rack == rack:
            return None
        near = [
            (progress.log_end, key)
            for key, progress in self.in_sync(role).items()
            if self.racks.get(key.node_id) == rack
        ]
        return max(near)[1].node_id if near else None

    def in_sync(self, role: Leader) -> dict[ReplicaKey, ReplicaProgress]:
        """The other voters that reached the leader's log end within the last fetch timeout. Answers
        name these voters as the ISR, because KRaft has no ISR."""
        oldest = self.driver.now() - self.driver.config.fetch_timeout_ms
        return {
            key: progress
            for key, progress in role.progress.items()
            if progress.last_caught_up >= oldest
        }
