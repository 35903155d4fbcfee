"""Three voters of our own on 127.0.0.1, in the loop of the test: an opaque topic and its log."""

from __future__ import annotations

import asyncio
import contextlib

from replica.node.formatting import format_node
from replica.node.node import opened
from replica.raft.inputs import Append
from replica.raft.roles.leader import Leader
from replica.storage.filesystem import LocalDisk
from tests.interop.kafka_node import free_ports
from tests.replica.node.server_properties import settings

TOPIC, TOPIC_ID = "events", "AAAAAAAAAAAAAAAAAAAAAg"
CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
SHUTDOWN_MS = 200
"""Enough to hand over; the last one has nobody to hand over to, and waits for as long."""


class Quorum:
    """nodes: by id 1 to 3, those that run. racks: each node is in rack-ID."""

    def __init__(self, folder):
        self.folder = folder
        self.ports = dict(zip((1, 2, 3), free_ports(3), strict=True))
        self.nodes, self.tasks, self.locks = {}, {}, {}

    @property
    def bootstrap(self):
        return [("127.0.0.1", port) for port in self.ports.values()]

    def start(self, node_id):
        folder = self.folder / str(node_id)
        folder.mkdir(exist_ok=True)
        voters = ",".join(f"{i}@127.0.0.1:{port}" for i, port in self.ports.items())
        own = settings(
            folder,
            node__id=node_id,
            log__dirs=folder / "log",
            listeners=f"CONTROLLER://127.0.0.1:{self.ports[node_id]}",
            controller__quorum__bootstrap__servers=None,
            controller__quorum__voters=voters,
            kraftlake__topic__name=TOPIC,
            kraftlake__topic__id=TOPIC_ID,
            controller__quorum__election__timeout__ms=300,
            broker__rack=f"rack-{node_id}",
        )
        if not (folder / "log").exists():
            format_node(LocalDisk(), own, CLUSTER_ID)
        node, self.locks[node_id] = opened(own, lambda text: None)
        self.nodes[node_id] = node
        self.tasks[node_id] = asyncio.create_task(node.run())

    async def stop(self, node_id):
        self.nodes.pop(node_id).driver.shut_down(SHUTDOWN_MS)
        await self.tasks.pop(node_id)
        self.locks.pop(node_id).close()

    async def leader(self):
        """The id of a leader whose epoch has committed."""
        while True:
            for node_id, node in self.nodes.items():
                raft = node.driver.host.raft
                if isinstance(raft.role, Leader) and raft.high_watermark is not None:
                    return node_id
            await asyncio.sleep(0.01)

    def tell_racks(self, leader_id):
        """What a leader learns from fetches of replicas that name their rack."""
        partition = self.nodes[leader_id].partition
        for voter in partition.driver.host.raft.log.voters:
            partition.racks[voter.key] = f"rack-{voter.key.node_id}"

    async def append(self, *values):
        """Appended and committed, each in a batch of its own."""
        for value in values:
            driver = self.nodes[await self.leader()].driver
            await driver.append(Append(driver.host.raft.role.epoch, (value,)))


@contextlib.asynccontextmanager
async def running(folder):
    quorum = Quorum(folder)
    try:
        for node_id in quorum.ports:
            quorum.start(node_id)
        yield quorum
    finally:
        for node_id in tuple(quorum.nodes):
            await quorum.stop(node_id)
