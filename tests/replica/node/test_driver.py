"""Drivers of a quorum: what is acknowledged is committed, and who can't know says so."""

import asyncio
import struct
import threading

import pytest

from replica.node.driver import StoppedError
from replica.raft.effects import Stopped
from replica.raft.leader.leading import NotLeaderError
from replica.raft.messages import DescribeQuorumRequest
from replica.storage.filesystem import _LocalFile
from tests.replica.node.quorum import Quorum, propose


@pytest.fixture
def in_quorum(tmp_path):
    """Runs `story(quorum)` on a quorum of three."""

    def run(story):
        async def main():
            quorum = Quorum(tmp_path, 3)
            async with asyncio.timeout(120):
                return await story(quorum)

        return asyncio.run(main())

    return run


def test_acknowledged_records_are_committed_on_a_majority(in_quorum):
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


def test_a_leader_whose_disk_stands_still_commits_with_the_others_and_answers(
    in_quorum, monkeypatch
):
    """Its own log counts only once it is synced, and here it isn't before more was committed."""
    goes_on, sync = threading.Event(), _LocalFile.sync

    async def story(quorum):
        leader = await quorum.leader()
        await propose(leader, b"first")
        held = f"{quorum.folder}/{leader.host.config.local.key.node_id}/"

        def slow_sync(self):
            if self.path.startswith(held):
                assert goes_on.wait(60), "the loop stands still while the disk syncs"
            sync(self)

        monkeypatch.setattr(_LocalFile, "sync", slow_sync)
        flushed = leader.log.flushed_end
        for number in range(10):
            appended = await propose(leader, b"%d" % number)
        await leader.ask(DescribeQuorumRequest())
        assert leader.log.flushed_end <= flushed + 1 < appended.last_offset
        goes_on.set()
        while leader.log.flushed_end <= appended.last_offset:
            await asyncio.sleep(0.01)

    in_quorum(story)


def test_an_administrator_is_answered(in_quorum):
    async def story(quorum):
        leader = await quorum.leader()
        answer = await leader.ask(DescribeQuorumRequest())
        assert [state.replica.node_id for state in answer.voters] == [1, 2, 3]

    in_quorum(story)


@pytest.mark.parametrize("where", ["in a step of the core", "in a request to a peer"])
def test_an_exception_that_nobody_expected_stops_the_replica(in_quorum, where):
    async def story(quorum):
        leader = await quorum.leader()
        node_id, follower = next((n, d) for n, d in quorum.drivers.items() if d is not leader)

        def broken(*_):
            raise struct.error("'i' format requires a number that fits")

        if where == "in a step of the core":
            follower.host.raft.step = broken  # a timer comes next
        else:
            follower.call = broken
        with pytest.raises(struct.error):
            await quorum.running[node_id]
        assert follower.has_failed
        with pytest.raises(StoppedError):
            await follower.ask(DescribeQuorumRequest())

    in_quorum(story)


def test_a_step_that_fails_half_way_answers_nothing(in_quorum):
    async def story(quorum):
        leader = await quorum.leader()
        node_id = leader.host.config.local.key.node_id

        def half(event, now):
            original(event, now)
            raise AssertionError("a rule of ours is broken")

        original = leader.host.step
        leader.host.step = half
        with pytest.raises(StoppedError):
            await leader.ask(DescribeQuorumRequest())
        with pytest.raises(AssertionError, match="a rule of ours"):
            await quorum.running[node_id]

    in_quorum(story)
