"""Drivers joined by function calls in one loop: replicas on real disks, without a network."""

import asyncio
from random import Random

import pytest

from replica.errors import UnreachablePeerError
from replica.host.host import Host, Place
from replica.machines.opaque import OpaqueMachine
from replica.node.driver import Clock, Driver
from replica.raft.config import Config
from replica.raft.effects import Stopped
from replica.raft.inputs import Proposal, Propose
from replica.raft.leading import NotLeaderError
from replica.raft.messages import DescribeQuorumRequest
from replica.raft.ports import Endpoint, Voter
from replica.raft.roles.leader import Leader
from replica.raft.voters import voter_set, without_directories
from replica.storage.batches import value_batch
from replica.storage.filesystem import LocalDisk
from replica.storage.segment import LogConfig
from replica.types import ReplicaKey

TIMES = {"election_timeout_ms": 100, "fetch_timeout_ms": 200, "fetch_max_wait_ms": 50}


def voter(node_id):
    return Voter(ReplicaKey(node_id, f"{node_id:021}A"), (Endpoint("CONTROLLER", "h", node_id),))


class Quorum:
    """Replicas 1 to `size`; those in `cut` are reached by nobody and reach nobody."""

    def __init__(self, folder, size):
        self.folder = folder
        self.voters = without_directories(voter_set(voter(n) for n in range(1, size + 1)))
        self.drivers = {}
        self.running = {}
        self.cut = set()
        for node_id in self.voters.ids:
            self.start(node_id)

    def start(self, node_id):
        disk, path = LocalDisk(), f"{self.folder}/{node_id}/topic-0"
        disk.make_directory(path)
        config = Config("cluster", voter(node_id), self.voters, **TIMES)
        place, clock = Place(disk, path, LogConfig()), Clock()
        host = Host(config, place, OpaqueMachine(), Random(node_id).randrange, clock())

        async def call(send):
            if {node_id, send.node_id} & self.cut or send.node_id not in self.drivers:
                raise UnreachablePeerError(f"node {send.node_id}", "cut off")
            return await self.drivers[send.node_id].ask(send.message)

        driver = self.drivers[node_id] = Driver(host, call, clock, None)
        self.running[node_id] = asyncio.create_task(driver.run())

    async def leader(self, *, other_than=0):
        """The one of the newest epoch, once it may append."""
        while True:
            drivers = [d for n, d in self.drivers.items() if n not in (other_than, *self.cut)]
            leading = [d for d in drivers if isinstance(d.host.raft.role, Leader)]
            if leading and leading[-1].host.raft.high_watermark is not None:
                return max(leading, key=lambda d: d.host.raft.role.epoch)
            await asyncio.sleep(0.01)

    async def stop(self, node_id):
        self.drivers[node_id].shut_down(2000)
        ended = await self.running[node_id]
        del self.drivers[node_id]
        return ended


def propose(driver, content):
    epoch = driver.host.raft.role.epoch
    return driver.append(Propose(epoch, (Proposal(1, value_batch(0, 0, 1, [content])),)))


@pytest.fixture
def in_quorum(tmp_path):
    """Runs `story(quorum)` on a quorum of three."""

    def run(story):
        async def main():
            quorum = Quorum(tmp_path, 3)
            async with asyncio.timeout(30):
                return await story(quorum)

        return asyncio.run(main())

    return run


def test_what_is_acknowledged_is_committed_on_a_majority(in_quorum):
    async def story(quorum):
        leader = await quorum.leader()
        made = await asyncio.gather(*(propose(leader, b"%d" % n) for n in range(20)))
        offsets = [appended.last_offset for appended in made]
        assert offsets == sorted(set(offsets))
        holding = [d for d in quorum.drivers.values() if d.host.log.log_end > offsets[-1]]
        assert len(holding) >= 2
        assert leader.host.machine.state.batches == 20

    in_quorum(story)


def test_a_leader_that_is_cut_off_tells_that_the_outcome_is_unknown(in_quorum):
    async def story(quorum):
        old = await quorum.leader()
        quorum.cut.add(old.host.config.local.key.node_id)
        waiting = asyncio.create_task(propose(old, b"lost?"))
        new = await quorum.leader()
        await propose(new, b"kept")
        quorum.cut.clear()
        with pytest.raises(NotLeaderError, match="outcome unknown"):
            await waiting
        follower = next(d for d in quorum.drivers.values() if d is not new)
        with pytest.raises(NotLeaderError):
            await propose(follower, b"refused")

    in_quorum(story)


def test_a_shutdown_hands_over_and_a_restart_has_the_same_log(in_quorum):
    async def story(quorum):
        leader = await quorum.leader()
        await propose(leader, b"kept")
        state, epoch = leader.host.machine.state, leader.host.raft.role.epoch
        node_id = leader.host.config.local.key.node_id
        assert await quorum.stop(node_id) is Stopped.GRACEFULLY
        new = await quorum.leader()
        assert new.host.raft.role.epoch > epoch
        await propose(new, b"meanwhile")
        quorum.start(node_id)
        back = quorum.drivers[node_id]
        while back.host.machine.next_offset < new.host.machine.next_offset:
            await asyncio.sleep(0.01)
        assert back.host.machine.state == new.host.machine.state != state

    in_quorum(story)


def test_an_administrator_is_answered(in_quorum):
    async def story(quorum):
        leader = await quorum.leader()
        answer = await leader.ask(DescribeQuorumRequest())
        assert [state.replica.node_id for state in answer.voters] == [1, 2, 3]

    in_quorum(story)
