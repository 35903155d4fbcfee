"""Replicas that run make snapshots by their policy: voters and observers, each for itself."""

import asyncio
import os
import select
import signal
import sys
import threading
from pathlib import Path

import pytest

from replica.format.stored_batches import StoredBatches
from replica.machines.metadata import MetadataMachine
from replica.metadata.codec import encode
from replica.node.threads import SWITCH_S
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


@pytest.mark.parametrize("at_once", [0, 3])
def test_machines_that_are_given_their_records_in_threads_have_what_the_log_says(tmp_path, at_once):
    """Every commit and every load goes through a thread, also those of a voter that was away."""

    async def story():
        policy = SnapshotPolicy(max_new_bytes=300)
        quorum = Quorum(tmp_path, 3, machine=MetadataMachine, policy=policy, at_once=at_once)
        async with asyncio.timeout(120):
            await quorum.commit(encode(topic("first", f"{'first':-<21}A")))
            leads = (await quorum.leader()).config.local.key.node_id
            away = 1 if leads != 1 else 2
            await quorum.stop(away)
            await write_topics(quorum)
            quorum.start(away)
            leader = await quorum.leader()
            hosts = [each.host for each in quorum.drivers.values()]
            while any(h.is_behind or h.commit_end < leader.log.log_end for h in hosts):
                await asyncio.sleep(0.01)
            (image, *others) = [host.machine.image for host in hosts]
            assert others == [image, image]
            assert len(image.tables["topics"].values) == TOPICS + 1
            for node_id in sorted(quorum.drivers, key=lambda n: quorum.drivers[n] is leader):
                await quorum.stop(node_id)

    asyncio.run(story())


class Slow(MetadataMachine):
    """A machine that takes many records at once only when the test lets it. It takes single
    records at any time."""

    may_go_on = threading.Event()

    def commit(self, batches):
        if isinstance(batches, StoredBatches):
            assert Slow.may_go_on.wait(60), "the loop stands still while a machine catches up"
        super().commit(batches)


def test_a_leader_commits_and_answers_while_its_machine_catches_up(tmp_path):
    """The machines get nothing before the voters have committed more, for which they have to answer
    each other."""

    async def story():
        Slow.may_go_on.clear()
        sys.setswitchinterval(0.005)
        quorum = Quorum(tmp_path, 3, machine=Slow, at_once=0)
        async with asyncio.timeout(120):
            await write_topics(quorum)
            drivers = list(quorum.drivers.values())
            assert all(each.host.machine.next_offset == 0 for each in drivers)
            leader = await quorum.leader()
            assert sys.getswitchinterval() == pytest.approx(SWITCH_S)
            Slow.may_go_on.set()
            while any(each.host.machine.next_offset < leader.log.log_end for each in drivers):
                await asyncio.sleep(0.01)
            for node_id in sorted(quorum.drivers, key=lambda n: quorum.drivers[n] is leader):
                await quorum.stop(node_id)

    asyncio.run(story())
    for log in logs_of(tmp_path, range(1, 4)):
        log.close()


def test_a_replica_that_is_stopped_does_not_wait_until_its_machine_has_caught_up(tmp_path):
    async def story():
        quorum = Quorum(tmp_path, 1, machine=MetadataMachine)
        async with asyncio.timeout(60):
            await write_topics(quorum)
            await quorum.stop(1)
            Slow.may_go_on.clear()
            quorum.machine, quorum.at_once = Slow, 0
            quorum.start(1)
            leader = await quorum.leader()
            host, begun = leader.host, leader._threads._replay
            stopping = asyncio.create_task(quorum.stop(1))
            while not begun.batches._is_stopped:
                await asyncio.sleep(0.001)
            Slow.may_go_on.set()
            await stopping
            assert host.machine.next_offset < host.commit_end

    asyncio.run(story())


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


class Gate:
    """An event that children of this process see too."""

    def __init__(self):
        self.handles = os.pipe()

    def clear(self):
        while self.wait(0):
            os.read(self.handles[0], 1)

    def set(self):
        os.write(self.handles[1], b".")

    def wait(self, timeout_s):
        return bool(select.select([self.handles[0]], [], [], timeout_s)[0])


class Held(MetadataMachine):
    """A machine whose snapshots are not written before the test says so, in whatever process."""

    may_write = Gate()

    def snapshot_records(self):
        records = super().snapshot_records()

        def held():
            assert Held.may_write.wait(60), "the loop stands still while a snapshot is written"
            return records()

        return held


def test_a_leader_commits_and_answers_fetches_while_a_snapshot_is_written(tmp_path):
    """The snapshot can't be written before the records after it are committed, for which the leader
    has to answer the fetches of its voters."""

    async def story():
        Held.may_write.clear()
        policy = SnapshotPolicy(max_new_bytes=300)
        quorum = Quorum(tmp_path, 3, machine=Held, policy=policy)
        async with asyncio.timeout(120):
            await write_topics(quorum)
            leader = await quorum.leader()
            assert list(leader.host.log.snapshots) == [], "it is not written yet"
            ends = {node_id: each.log.log_end for node_id, each in quorum.drivers.items()}
            Held.may_write.set()
            while not all(each.log.snapshots.newest for each in quorum.drivers.values()):
                await asyncio.sleep(0.01)
            firsts = {n: next(iter(each.log.snapshots)) for n, each in quorum.drivers.items()}
            for node_id in [1, 2, 3]:
                assert firsts[node_id].offset < ends[node_id], "records came while it was written"
            for node_id in sorted(quorum.drivers, key=lambda n: quorum.drivers[n] is leader):
                await quorum.stop(node_id)

    asyncio.run(story())
    for log in logs_of(tmp_path, range(1, 4)):
        assert image_of_snapshot(log) == image_of_log(log, log.snapshots.newest.offset)
        log.close()


def test_a_replica_stops_only_once_its_snapshot_is_written(tmp_path):
    async def story():
        Held.may_write.clear()
        quorum = Quorum(tmp_path, 1, machine=Held, policy=SnapshotPolicy(max_new_bytes=300))
        async with asyncio.timeout(60):
            await write_topics(quorum)
            stopping = asyncio.create_task(quorum.stop(1))
            await asyncio.sleep(0)
            assert not stopping.done()
            Held.may_write.set()
            await stopping

    asyncio.run(story())
    (log,) = logs_of(tmp_path, [1])
    assert image_of_snapshot(log) == image_of_log(log, log.snapshots.newest.offset)
    log.close()


def test_a_snapshot_whose_process_the_system_kills_is_written_nevertheless(tmp_path):
    """The system kills a process where memory is short, and it may choose this one."""

    async def story():
        Held.may_write.clear()
        others = children_of_this_process()
        quorum = Quorum(tmp_path, 1, machine=Held, policy=SnapshotPolicy(max_new_bytes=300))
        async with asyncio.timeout(60):
            await write_topics(quorum)
            (child,) = children_of_this_process() - others
            os.kill(child, signal.SIGKILL)
            Held.may_write.set()
            while not (await quorum.leader()).log.snapshots.newest:
                await asyncio.sleep(0.01)
            await quorum.stop(1)

    asyncio.run(story())
    (log,) = logs_of(tmp_path, [1])
    assert image_of_snapshot(log) == image_of_log(log, log.snapshots.newest.offset)
    log.close()


def test_snapshots_leave_no_process_and_no_open_file(tmp_path):
    async def story():
        others = children_of_this_process()
        quorum = Quorum(tmp_path, 1, machine=MetadataMachine, policy=SnapshotPolicy(1, 1))
        async with asyncio.timeout(60):
            await write_topics(quorum)
            files = len(os.listdir("/proc/self/fd"))
            await write_topics(quorum)
            leader = await quorum.leader()
            while leader.is_writing_snapshot:
                await asyncio.sleep(0.01)
            assert len(os.listdir("/proc/self/fd")) <= files
            assert children_of_this_process() <= others
            await quorum.stop(1)

    asyncio.run(story())


def children_of_this_process() -> set[int]:
    """Those of the tests' own servers among them."""
    return {int(pid) for pid in Path("/proc/thread-self/children").read_text().split()}
