"""Drivers joined by function calls in one loop: replicas on real disks, without a network."""

import asyncio
from contextlib import suppress
from random import Random

from replica.errors import UnreachablePeerError
from replica.format.whole_batch import value_batch
from replica.host.host import Host, as_received
from replica.machines.opaque import OpaqueMachine
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter, voter_set, without_directories
from replica.node.driver import Clock, Driver
from replica.raft.config import Config
from replica.raft.inputs import Proposal, Propose
from replica.raft.leader.leading import NotLeaderError
from replica.raft.roles import Leader
from replica.storage.filesystem import LocalDisk
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log

TIMES = {"election_timeout_ms": 100, "fetch_timeout_ms": 200, "fetch_max_wait_ms": 50}


def voter(node_id):
    return Voter(ReplicaKey(node_id, f"{node_id:021}A"), (Endpoint("CONTROLLER", "h", node_id),))


class Quorum:
    """Voters 1 to `size`, then observers. Nodes in `cut` reach no other node and are not reached,
    and no request of a type in `lost` arrives."""

    def __init__(self, folder, size, observers=0, machine=OpaqueMachine, policy=None, at_once=None):
        self.folder = folder
        self.machine = machine
        self.policy = policy
        self.at_once = at_once
        self.voters = without_directories(voter_set(voter(n) for n in range(1, size + 1)))
        self.drivers = {}
        self.running = {}
        self.cut = set()
        self.lost = set()
        for node_id in range(1, size + observers + 1):
            self.start(node_id)

    def start(self, node_id):
        disk, path = LocalDisk(), f"{self.folder}/{node_id}/topic-0"
        servers = tuple(-1 - voter_id for voter_id in self.voters.ids)
        config = Config("cluster", voter(node_id), self.voters, servers, **TIMES)
        log, store, clock = open_log(disk, path), QuorumStateFile(disk, path), Clock()
        draw, at_once = Random(node_id).randrange, self.at_once
        host = Host(config, log, store, self.machine(), draw, clock(), at_once)

        async def call(send):
            peer = send.node_id if send.node_id > 0 else -1 - send.node_id
            if type(send.message) in self.lost:
                raise UnreachablePeerError(f"node {peer}", "lost")
            if {node_id, peer} & self.cut or peer not in self.drivers:
                raise UnreachablePeerError(f"node {peer}", "cut off")
            return as_received(await self.drivers[peer].ask(send.message))

        driver = self.drivers[node_id] = Driver(host, call, clock, self.policy)
        self.running[node_id] = asyncio.create_task(driver.run())

    async def leader(self, *, other_than=0):
        """The leader of the newest epoch, once it may append."""
        while True:
            drivers = [d for n, d in self.drivers.items() if n not in (other_than, *self.cut)]
            leading = [d for d in drivers if isinstance(d.host.raft.role, Leader)]
            if leading and leading[-1].host.raft.high_watermark is not None:
                return max(leading, key=lambda d: d.host.raft.role.epoch)
            await asyncio.sleep(0.01)

    async def commit(self, value):
        """Commits a value at the leader; again where the leadership was lost meanwhile, as on a
        busy machine."""
        while True:
            with suppress(NotLeaderError):
                return await propose(await self.leader(), value)

    async def stop(self, node_id):
        self.drivers[node_id].shut_down(2000)
        ended = await self.running[node_id]
        del self.drivers[node_id]
        return ended


def propose(driver, content):
    epoch = driver.host.raft.role.epoch
    return driver.append(Propose(epoch, (Proposal(1, value_batch(0, 0, 1, [content])),)))
