"""A node inside this process, on a port of 127.0.0.1, and a client of it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from replica.node.formatting import format_node
from replica.node.node import opened
from replica.raft.inputs import Append
from replica.raft.roles.leader import Leader
from replica.storage.filesystem import LocalDisk
from replica.wire.apis.fetching import FETCH, OFFSET_FOR_LEADER_EPOCH
from replica.wire.apis.writing import PRODUCE
from replica.wire.client import ClientConfig, Connection
from tests.interop.kafka_node import free_ports
from tests.replica.node.server_properties import settings

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
TOPIC, TOPIC_ID = "orders", "AAAAAAAAAAAAAAAAAAAAAg"
FAST = {
    "controller__quorum__election__timeout__ms": "100",
    "controller__quorum__append__linger__ms": "0",
    "kraftlake__topic__name": TOPIC,
    "kraftlake__topic__id": TOPIC_ID,
}


_NAMES = {
    FETCH.key: ("topic", "partition"),
    OFFSET_FOR_LEADER_EPOCH.key: ("topic", "partition"),
    PRODUCE.key: ("name", "index"),
}


def free_port():
    return free_ports(1)[0]


@asynccontextmanager
async def running(tmp_path, node_id=1, port=None, **changed):
    """A node, alone in its static quorum unless told otherwise, and its task."""
    port = port or free_port()
    values = {
        **FAST,
        "node__id": str(node_id),
        "log__dirs": str(tmp_path / f"node{node_id}"),
        "listeners": f"CONTROLLER://127.0.0.1:{port}",
        "controller__quorum__bootstrap__servers": None,
        "controller__quorum__voters": f"{node_id}@127.0.0.1:{port}",
        **changed,
    }
    found = settings(tmp_path, **values)
    format_node(LocalDisk(), found, CLUSTER, ignore_formatted=True)
    said = []
    node, lock = opened(found, said.append)
    with lock:
        task = asyncio.create_task(node.run())
        while not any(text.startswith("listening") for text in said):
            if task.done():
                task.result()
            await asyncio.sleep(0.005)
        try:
            yield node
        finally:
            if not task.done():
                node.driver.shut_down(100)
            await task


async def leads(node):
    """Once the node leads and knows its high watermark."""
    while not (
        isinstance(node.driver.host.raft.role, Leader)
        and node.driver.host.raft.high_watermark is not None
    ):
        await node.driver.wait_for_news(0.1)


async def append(node, *values):
    return await node.driver.append(Append(node.driver.host.raft.role.epoch, values))


@asynccontextmanager
async def client_of(node, **config):
    (listener,) = node.settings.listeners
    connection = await Connection.connect(
        "127.0.0.1", listener.port, ClientConfig(timeout_s=5.0, **config)
    )
    try:
        yield connection
    finally:
        await connection.close()


def at(api, **partition):
    """The topics array of a request of an API, about the partition."""
    name, number = _NAMES.get(api.key, ("name", "partitionIndex"))
    partitions = "partitionData" if api is PRODUCE else "partitions"
    topic = {name: TOPIC, partitions: [{number: 0, **partition}]}
    return [topic | ({"topicId": TOPIC_ID} if api in (FETCH, PRODUCE) else {})]


def the(topics, partitions="partitions"):
    """The one partition of a response."""
    (topic,) = topics
    (found,) = topic[partitions]
    return found
