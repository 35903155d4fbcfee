"""A node inside this process, on a port of 127.0.0.1, and a client of it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

from replica.node.assembly import opened
from replica.node.formatting import format_node
from replica.node.settings import Topic
from replica.raft.inputs import Append
from replica.raft.roles import Leader
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
PATIENT_ELECTION = {"controller__quorum__election__timeout__ms": "500"}
"""On a slow machine three nodes in one process need more than 100 ms for a round of votes. With
Kafka's value no node would ever be elected."""

_NAMES = {
    FETCH.key: ("topic", "partition"),
    OFFSET_FOR_LEADER_EPOCH.key: ("topic", "partition"),
    PRODUCE.key: ("name", "index"),
}


def free_port():
    return free_ports(1)[0]


@asynccontextmanager
async def running(tmp_path, node_id=1, port=None, said=None, **changed):
    """A node and its task. By default the node is alone in its static quorum. said: gets its
    notices."""
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
    said = [] if said is None else said
    node, lock = opened(found, said.append)
    with lock:
        task = asyncio.create_task(node.run())
        while not any(notice.event == "listening" for notice in said):
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
    """Waits until the node leads and knows its high watermark."""
    while not (
        isinstance(node.driver.host.raft.role, Leader)
        and node.driver.host.raft.high_watermark is not None
    ):
        await node.driver.wait_for_news(0.1)


@asynccontextmanager
async def quorum_of_three(tmp_path, **changed):
    """(leader, followers), voters of a static quorum; node N is in rack rN."""
    ports = {node_id: free_port() for node_id in (1, 2, 3)}
    voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in ports.items())
    async with AsyncExitStack() as stack:
        nodes = []
        for node_id, port in ports.items():
            folder = tmp_path / str(node_id)
            folder.mkdir()
            own = {"controller__quorum__voters": voters, "broker__rack": f"r{node_id}"}
            own |= PATIENT_ELECTION | changed
            nodes.append(await stack.enter_async_context(running(folder, node_id, port, **own)))
        leader = await leader_of(nodes)
        followers = [node for node in nodes if node is not leader]
        await caught_up(leader, followers)  # until then a follower may not know its leader
        yield leader, followers


async def leader_of(nodes):
    while True:
        for node in nodes:
            raft = node.driver.host.raft
            if isinstance(raft.role, Leader) and raft.high_watermark is not None:
                return node
        await asyncio.sleep(0.02)


async def caught_up(leader, followers):
    """The high watermark that all these nodes know now."""
    end = leader.driver.host.raft.high_watermark
    for node in followers:
        while (node.driver.host.raft.high_watermark or 0) < end:
            await node.driver.wait_for_news(0.1)
    return end


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


def at(api, topic=Topic(TOPIC, TOPIC_ID), **partition):  # noqa: B008 (frozen)
    """The topics array of a request of an API, about the partition."""
    name, number = _NAMES.get(api.key, ("name", "partitionIndex"))
    partitions = "partitionData" if api is PRODUCE else "partitions"
    asked = {name: topic.name, partitions: [{number: 0, **partition}]}
    return [asked | ({"topicId": topic.id} if api in (FETCH, PRODUCE) else {})]


def the(topics, partitions="partitions"):
    """The one partition of a response."""
    (topic,) = topics
    (found,) = topic[partitions]
    return found


async def fetched(node, offset, version=12, **changed):
    """The partition in the answer to a reader's fetch. changed: fields of the
    partition or request."""
    partition = {"fetchOffset": offset, "partitionMaxBytes": 1 << 20}
    for key in ("currentLeaderEpoch", "lastFetchedEpoch"):
        if key in changed:
            partition[key] = changed.pop(key)
    request = {
        "replicaId": -1,
        "maxWaitMs": 0,
        "minBytes": 1,
        "maxBytes": 1 << 20,
        "topics": at(FETCH, node.settings.topic, **partition),
        **changed,
    }
    async with client_of(node) as client:
        return the((await client.call(FETCH, request, version)).message["responses"])
