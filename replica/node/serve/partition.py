"""The one partition that a node serves, as clients see it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from replica.history.fetch import validate_leader_epoch
from replica.history.log import OffsetRange
from replica.model.epochs import UNDEFINED_EPOCH
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.model.voters import Endpoint
from replica.node.driver import Driver
from replica.node.settings import Topic
from replica.raft.config import Config
from replica.raft.raft import Raft
from replica.raft.roles import Leader
from replica.storage.log import FileLog


async def _at_once(address: str) -> None:
    """The turn of a reader where no other work waits."""


@dataclass(slots=True)
class ServedPartition:
    """driver: of the replica that serves the partition. endpoints: this node's own, by listener
    name. node_id: as clients know it; an anonymous observer has one for clients too.

    always_leads: an observer of another quorum presents itself as the leader, because its clients
    know no other node. uncommitted_is_empty: a fetch of offsets that may be uncommitted gets no
    records, as in released Kafka, instead of OFFSET_NOT_AVAILABLE (KIP-392). racks: by node id, as
    the fetching replicas gave them. turn: awaited with the reader's address before expensive work;
    see Turns. fetches: how many readers' fetches got records. unregistering: held while a
    controller is being unregistered.
    """

    topic: Topic
    driver: Driver
    endpoints: tuple[Endpoint, ...]
    rack: str = ""
    node_id: int = NO_NODE
    always_leads: bool = False
    uncommitted_is_empty: bool = False
    turn: Callable[[str], Awaitable[None]] = _at_once
    racks: dict[int, str] = field(default_factory=dict)
    fetches: int = 0
    unregistering: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def raft(self) -> Raft:
        """The consensus core of the replica, for looking only."""
        return self.driver.raft

    @property
    def log(self) -> FileLog:
        return self.driver.log

    @property
    def config(self) -> Config:
        return self.driver.config

    @property
    def epoch(self) -> int:
        return self.raft.role.epoch

    @property
    def leads(self) -> bool:
        return self.always_leads or isinstance(self.raft.role, Leader)

    @property
    def leader_id(self) -> int:
        """The leader's node id. NO_NODE also on a leader that has resigned, so that clients ask the
        others."""
        if self.leads:
            return self.node_id
        known = self.raft.role.leader_id
        return NO_NODE if known == self.node_id else known

    @property
    def leader_epoch(self) -> int:
        """The epoch of the leader that clients are told; without a leader, the newest epoch in the
        log.

        An election's epoch isn't told before it has a leader: librdkafka would take its position
        for validated in that epoch, and would read on past the point where the logs diverged.
        """
        without_one = self.leader_id == NO_NODE
        return self.raft.log.last_epoch if without_one else self.epoch

    @property
    def committed(self) -> int | None:
        """The high watermark (exclusive), at most this log's end. None while it is unknown."""
        known = self.raft.high_watermark
        log = self.raft.log
        return None if known is None else max(min(known, log.log_end), log.log_start)

    @property
    def readable(self) -> OffsetRange:
        """The offsets that readers get here: from the log start to the high watermark
        (exclusive)."""
        log = self.raft.log
        committed = self.committed
        return OffsetRange(log.log_start, log.log_start if committed is None else committed)

    def epoch_error(self, asked: int) -> ErrorCode:
        """NONE where the leader epoch that a client names is this replica's, or -1 for none
        (KIP-320)."""
        if asked == UNDEFINED_EPOCH:
            return ErrorCode.NONE
        return validate_leader_epoch(self.epoch, asked) or ErrorCode.NONE

    def has_name(self, name: str) -> bool:
        return name == self.topic.name

    def has_id(self, topic_id: str) -> bool:
        return topic_id == self.topic.id
