"""Clients that read a quorum's log while it is under faults, and record what each answer gave them.

A reader of kraftlake's replicas is a consumer, which leader and followers serve. Kafka's
controllers serve no consumers. A reader of these is an observer without an id, which only the
leader answers; it takes nothing above the high watermark. The disks tell which node leads, so a
node that was cut off may be asked as long as its own disk calls it the leader.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from replica.errors import KraftlakeError
from replica.format.segment import scan
from replica.format.walk import LocatedBatch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import METADATA_TOPIC, METADATA_TOPIC_ID
from replica.wire.apis.fetching import FETCH
from replica.wire.client import ClientConfig, Connection
from replica.wire.schema import Message
from tests.in_threads import in_threads
from tests.interop.kraftlake_quorum import CLUSTER_ID
from tests.interop.mixed_quorum import OURS
from tests.interop.partitioned_quorum import Node, PartitionedQuorum
from tests.interop.read_history import Piece, Read

READERS = 3
_PAUSE_S = 0.05
_TIMEOUT_S = 3.0
_OF_THE_LEADER = 0.4
"""The share of the reads that ask the newest leader. The other reads ask any node."""
_ANEW = 0.03
"""The share of the reads after which a session ends. The next session reads from offset 0."""
_MAX_WAIT_MS = 100
_MAX_BYTES = 64 * 1024
"""The size of an answer: so small that a session from offset 0 still reads when a fault comes."""


@dataclass(frozen=True)
class Position:
    """The next offset to read, and the epoch of the batch before it."""

    offset: int = 0
    epoch: int = 0


@dataclass
class Readers:
    """The readers. history: the answers with batches, of all sessions. refused: the number of
    requests that got an error or no answer."""

    quorum: PartitionedQuorum
    seed: int
    history: list[Read] = field(default_factory=list)
    refused: int = 0
    is_over: threading.Event = field(default_factory=threading.Event)

    def live(self, reader_id: int) -> None:
        asyncio.run(self._read(reader_id))

    async def _read(self, reader_id: int) -> None:
        choice, number, position = random.Random(f"{self.seed} reads {reader_id}"), 0, Position()
        while not self.is_over.is_set():
            leader = self.quorum.newest_election()[1]
            node = self.quorum.nodes.get(leader)
            if node is None or choice.random() > _OF_THE_LEADER:
                node = choice.choice(list(self.quorum.nodes.values()))
            try:
                answer = await _fetched(node, position)
            except KraftlakeError:
                answer = None
            if answer is None:
                self.refused += 1
            else:
                session = f"{reader_id}-{number}"
                position = self._keep(session, node, position, answer)
            if choice.random() < _ANEW:
                number, position = number + 1, Position()
            await asyncio.sleep(_PAUSE_S)

    def _keep(self, session: str, node: Node, position: Position, answer: Message) -> Position:
        """Keeps the answer's batches. Gives the position after them."""
        ended, end = time.monotonic(), int(answer["highWatermark"])
        role = "leader" if node.election[1] == node.node_id else "follower"
        data = bytes(answer["records"] or b"")
        pieces = []
        for batch in scan(data).batches:
            header = batch.header
            if node.kind != OURS and header.next_offset > end:
                break  # Kafka's leader also gives its observers uncommitted records
            pieces.append(_piece(data, batch))
            epoch = header.leader_epoch
        if not pieces:
            return position
        label = f"{node.kind}'s {role}, node {node.node_id}"
        self.history.append(Read(session, label, position.offset, ended, end, tuple(pieces)))
        return Position(pieces[-1].end_offset, epoch)


def pieces_of(log: bytes) -> list[Piece]:
    """All batches in the bytes of whole segments."""
    return [_piece(log, batch) for batch in scan(log).batches]


def _piece(data: bytes, batch: LocatedBatch) -> Piece:
    raw = data[batch.position : batch.position + batch.header.size_bytes]
    digest = hashlib.sha256(raw).hexdigest()[:16]
    return Piece(batch.header.base_offset, batch.header.next_offset, digest)


async def _fetched(node: Node, position: Position) -> Message | None:
    """The answer's partition; None where that, or the whole answer, has an error."""
    asked: Message = {
        "partition": 0,
        "fetchOffset": position.offset,
        "partitionMaxBytes": _MAX_BYTES,
    }
    request: Message = {"replicaId": -1, "maxWaitMs": _MAX_WAIT_MS, "minBytes": 1}
    if node.kind != OURS:
        request["clusterId"] = CLUSTER_ID
        asked["currentLeaderEpoch"] = node.election[0]
        asked["lastFetchedEpoch"] = position.epoch
    request["maxBytes"] = _MAX_BYTES
    request["topics"] = [
        {"topic": METADATA_TOPIC, "topicId": METADATA_TOPIC_ID, "partitions": [asked]}
    ]
    config = ClientConfig(timeout_s=_TIMEOUT_S)
    connection = await Connection.connect("127.0.0.1", node.advertised, config)
    try:
        answer = (await connection.call(FETCH, request)).message
    finally:
        await connection.close()
    if answer["errorCode"]:
        return None
    (found,) = answer["responses"][0]["partitions"]
    return found if found["errorCode"] == ErrorCode.NONE else None


@contextmanager
def reading(quorum: PartitionedQuorum, seed: int) -> Iterator[Readers]:
    """Readers, each in a thread of its own. All reads have ended when the block ends."""
    readers = Readers(quorum, seed)
    with in_threads(readers.is_over, (partial(readers.live, each) for each in range(READERS))):
        yield readers
