"""Clients that append to a quorum of Kafka's controllers and kraftlake's replicas, and record the
outcome of each append.

An append is a new value of one dynamic broker default: a record in the log, whichever node leads.
Kafka's leader gets IncrementalAlterConfigs, kraftlake's leader a Produce of the record itself. A
client sends each value once, mostly to the node that leads by the disks, sometimes to any other
node.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from replica.admin.appending import (
    Appender,
    AppendRefusedError,
)
from replica.errors import KraftlakeError, NoLeaderError
from replica.format.whole_batch import value_batch
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import METADATA_TOPIC
from replica.wire.apis.configs import INCREMENTAL_ALTER_CONFIGS
from replica.wire.client import ClientConfig, Connection
from tests.in_threads import in_threads
from tests.interop.append_history import Append, Outcome
from tests.interop.mixed_quorum import OURS
from tests.interop.partitioned_quorum import Node, PartitionedQuorum

NAME = "appended.by"
CLIENTS = 3
_PAUSE_S = 0.03
_TIMEOUT_S = 3.0
_ANY_NODE = 0.1
"""The share of appends that a client sends to any node."""
_BROKER, _SET = 4, 0
_RESOURCE = {"resourceType": _BROKER, "resourceName": ""}


@dataclass
class Clients:
    """The clients. history: all appends that have ended, of all clients."""

    quorum: PartitionedQuorum
    seed: int
    history: list[Append] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def acknowledged(self) -> int:
        return sum(each.outcome is Outcome.ACKNOWLEDGED for each in self.history)

    def live(self, client_id: int) -> None:
        asyncio.run(self._append(client_id))

    async def _append(self, client_id: int) -> None:
        choice, number = random.Random(f"{self.seed} {client_id}"), 0
        while not self.is_over.is_set():
            nodes = self.quorum.nodes
            node = nodes.get(self.quorum.newest_election()[1])
            if node is None or choice.random() < _ANY_NODE:
                node = choice.choice(list(nodes.values()))
            value, began = f"{client_id}-{number}", time.monotonic()
            outcome = await _appended(node, value)
            self.history.append(Append(value, began, time.monotonic(), outcome))
            number += 1
            await asyncio.sleep(_PAUSE_S)


async def _appended(node: Node, value: str) -> Outcome:
    try:
        if node.kind == OURS:
            return await _produced(node, value)
        return await _altered(node, value)
    except KraftlakeError:
        return Outcome.UNKNOWN


async def _produced(node: Node, value: str) -> Outcome:
    record = new_record("CONFIG_RECORD", 0, {**_RESOURCE, "name": NAME, "value": value})
    batch = value_batch(0, 0, int(time.time() * 1000), (encode(record),))
    config = ClientConfig(timeout_s=_TIMEOUT_S)
    appender = Appender([("127.0.0.1", node.port)], METADATA_TOPIC, config, _TIMEOUT_S)
    try:
        await appender.append(batch)
    except (AppendRefusedError, NoLeaderError):
        return Outcome.REFUSED
    finally:
        await appender.close()
    return Outcome.ACKNOWLEDGED


async def _altered(node: Node, value: str) -> Outcome:
    """The outcome of an append to Kafka. Kafka also answers NOT_CONTROLLER for a record that it
    appended before it lost the leadership and that another leader may commit. So the outcome of any
    error is unknown."""
    changed = {"name": NAME, "configOperation": _SET, "value": value}
    request = {"resources": [{**_RESOURCE, "configs": [changed]}], "validateOnly": False}
    config = ClientConfig(timeout_s=_TIMEOUT_S)
    connection = await Connection.connect("127.0.0.1", node.port, config)
    try:
        answer = (await connection.call(INCREMENTAL_ALTER_CONFIGS, request)).message
    finally:
        await connection.close()
    is_done = all(each["errorCode"] == ErrorCode.NONE for each in answer["responses"])
    return Outcome.ACKNOWLEDGED if is_done else Outcome.UNKNOWN


@contextmanager
def appending(quorum: PartitionedQuorum, seed: int) -> Iterator[Clients]:
    """Clients, each in a thread of its own. All appends have ended when the block ends."""
    clients = Clients(quorum, seed)
    with in_threads(clients.is_over, (partial(clients.live, each) for each in range(CLIENTS))):
        yield clients
