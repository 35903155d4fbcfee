"""Runs kraftlake voters on 127.0.0.1, in the event loop of the test or in a thread beside it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

from replica.node.assembly import opened
from replica.node.formatting import format_node
from replica.raft.inputs import Append
from replica.raft.roles import Leader
from replica.storage.filesystem import LocalDisk
from tests.interop.kafka_node import free_ports
from tests.replica.node.server_properties import settings

TOPIC, TOPIC_ID = "events", "AAAAAAAAAAAAAAAAAAAAAg"
CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
SHUTDOWN_MS = 200
"""The ms in which a leader hands over. The last voter waits for all of this time, because no other
voter is left."""


class Quorum:
    """A quorum. nodes: the running nodes by id, from 1 on. topic_id: None for a metadata log.
    administrators: the principals of administrators; * for every client."""

    def __init__(self, folder, voters=3, topic=TOPIC, topic_id=TOPIC_ID, administrators=""):
        self.folder = folder
        self.topic, self.topic_id = topic, topic_id
        self.administrators = administrators
        self.ports = dict(enumerate(free_ports(voters), 1))
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
            kraftlake__topic__name=self.topic if self.topic_id else None,
            kraftlake__topic__id=self.topic_id,
            kraftlake__principals__administrator=self.administrators,
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
        """The id of the leader, once a record of its epoch is committed."""
        while True:
            for node_id, node in self.nodes.items():
                raft = node.driver.host.raft
                if isinstance(raft.role, Leader) and raft.high_watermark is not None:
                    return node_id
            await asyncio.sleep(0.01)

    def tell_racks(self, leader_id):
        """Gives the leader the racks that it would learn from fetches of replicas with racks."""
        partition = self.nodes[leader_id].partition
        for voter in partition.driver.host.raft.log.voters:
            partition.racks[voter.key] = f"rack-{voter.key.node_id}"

    async def append(self, *values):
        """Appends values, each in a batch of its own, and waits until they are committed."""
        for value in values:
            driver = self.nodes[await self.leader()].driver
            await driver.append(Append(driver.host.raft.role.epoch, (value,)))


@contextlib.asynccontextmanager
async def running(folder, **shape):
    quorum = Quorum(folder, **shape)
    try:
        for node_id in quorum.ports:
            quorum.start(node_id)
        yield quorum
    finally:
        for node_id in tuple(quorum.nodes):
            await quorum.stop(node_id)


@contextlib.contextmanager
def in_thread(folder, values, **shape):
    """A quorum in a thread, in which `values` are committed. Gives its bootstrap servers."""
    started, done = threading.Event(), threading.Event()
    found = []

    async def live():
        async with running(folder, **shape) as quorum:
            await quorum.append(*values)
            found.append(",".join(f"{host}:{port}" for host, port in quorum.bootstrap))
            started.set()
            await asyncio.to_thread(done.wait)

    with ThreadPoolExecutor(1) as thread:
        living = thread.submit(asyncio.run, live())
        living.add_done_callback(lambda _: started.set())
        try:
            started.wait()
            if not found:
                living.result()
            yield found[0]
        finally:
            done.set()
        living.result()
