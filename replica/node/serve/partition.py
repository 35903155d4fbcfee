"""The one partition that a node serves, as its clients see it."""

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
    """The turn of a node on which nobody else has work to do."""


@dataclass(slots=True)
class ServedPartition:
    """driver: of the replica behind it. endpoints: this node's own, by listener name.
    node_id: as clients know it; an anonymous observer has one for them too.

    always_leads: an observer of a real quorum presents itself as the leader of what it serves, for
    its clients know no other node. uncommitted_is_empty: answer a fetch of offsets that are not
    known to be committed as released Kafka does, without records, instead of OFFSET_NOT_AVAILABLE
    (KIP-392). racks: by node id, as the replicas that fetch from here told. turn: awaited, with the
    reader's address, before work that costs time; see Turns. fetches: how many fetches of readers
    were answered here with records. unregistering: held while a controller is unregistered.
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
        """The consensus core of the replica behind it, to look at."""
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
        """NO_NODE also on a leader that has resigned: its clients should ask the others."""
        if self.leads:
            return self.node_id
        known = self.raft.role.leader_id
        return NO_NODE if known == self.node_id else known

    @property
    def leader_epoch(self) -> int:
        """Of the leader that clients are told of; without one, the newest epoch in the log.

        Not that of an election in progress: a client that knows the epoch before its leader takes
        its position for validated in it (librdkafka), and reads on where the logs parted.
        """
        without_one = self.leader_id == NO_NODE
        return self.raft.log.last_epoch if without_one else self.epoch

    @property
    def committed(self) -> int | None:
        """The high watermark (exclusive) as far as this log reaches; None while unknown."""
        known = self.raft.high_watermark
        log = self.raft.log
        return None if known is None else max(min(known, log.log_end), log.log_start)

    @property
    def readable(self) -> OffsetRange:
        """What readers get here: from the log start to the high watermark."""
        log = self.raft.log
        committed = self.committed
        return OffsetRange(log.log_start, log.log_start if committed is None else committed)

    def epoch_error(self, asked: int) -> ErrorCode:
        """NONE where the leader epoch that a client names is ours, or -1 for none (KIP-320)."""
        if asked == UNDEFINED_EPOCH:
            return ErrorCode.NONE
        return validate_leader_epoch(self.epoch, asked) or ErrorCode.NONE

    def has_name(self, name: str) -> bool:
        return name == self.topic.name

    def has_id(self, topic_id: str) -> bool:
        return topic_id == self.topic.id
