"""Replicas that run make snapshots by their policy: voters and observers, each for itself."""

import asyncio

import pytest

from replica.machines.metadata import MetadataMachine
from replica.metadata.codec import encode
from replica.raft.snapshots import SnapshotPolicy
from replica.storage.filesystem import LocalDisk
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from tests.replica.metadata.image.made import topic
from tests.replica.node.quorum import Quorum

TOPICS = 12


def logs_of(folder, node_ids):
    return [open_log(LocalDisk(), f"{folder}/{node_id}/topic-0") for node_id in node_ids]


def longest_from_offset_0(logs: list[FileLog]):
    """A replica that first fetched after a snapshot was made is sent that snapshot, and its log
    begins there: what it holds is judged by the log of a replica that has every offset."""
    return max((log for log in logs if log.log_start == 0), key=lambda log: log.log_end)


def image_of_snapshot(log: FileLog):
    newest = log.snapshots.newest
    assert newest is not None, "no snapshot was made"
    machine = MetadataMachine()
    machine.load_snapshot(newest, log.snapshots.batches(newest))
    return machine.image


def image_of_log(log: FileLog, end_offset):
    machine = MetadataMachine()
    machine.commit(log.batches(0, end_offset))
    return machine.image


async def write_topics(quorum):
    """One after another, so that there is something new for a snapshot each time."""
    for number in range(TOPICS):
        await quorum.commit(encode(topic(f"topic-{number}", f"{number:021}A")))


@pytest.mark.scenario("G38")
def test_every_controller_and_broker_makes_snapshots_that_hold_what_its_log_says(tmp_path):
    async def story():
        policy = SnapshotPolicy(max_new_bytes=300)
        quorum = Quorum(tmp_path, 3, observers=2, machine=MetadataMachine, policy=policy)
        async with asyncio.timeout(120):
            await write_topics(quorum)
            quorum.start(6)
            image = (await quorum.leader()).host.machine.image
            while any(d.host.machine.image != image for d in quorum.drivers.values()):
                await asyncio.sleep(0.01)
            leader = await quorum.leader()
            for node_id in sorted(quorum.drivers, key=lambda n: quorum.drivers[n] is leader):
                await quorum.stop(node_id)

    asyncio.run(story())
    logs = logs_of(tmp_path, range(1, 7))
    assert logs[-1].log_start > 0, "the observer that started late was sent no snapshot"
    for log in logs:
        held = image_of_snapshot(log)
        assert held.tables["topics"].values
        assert held == image_of_log(longest_from_offset_0(logs), log.snapshots.newest.offset)
    for log in logs:
        log.close()


class Counting(MetadataMachine):
    looked = 0

    def changed_ratio(self):
        Counting.looked += 1
        return 0.1


def test_the_changed_ratio_is_looked_up_only_where_it_may_decide(tmp_path):
    async def story():
        policy = SnapshotPolicy(max_new_bytes=800, min_changed_ratio=0.5)
        quorum = Quorum(tmp_path, 1, machine=Counting, policy=policy)
        async with asyncio.timeout(60):
            for number in range(200):
                await quorum.commit(encode(topic(f"topic-{number}", f"{number:021}A")))
            host = (await quorum.leader()).host
            assert host.new_bytes > 800
            assert 0 < Counting.looked <= (host.new_bytes - 800) // 100 + 1
            assert host.log.snapshots.newest is None
            await quorum.stop(1)

    asyncio.run(story())
