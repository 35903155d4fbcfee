"""Observers that add themselves to the voters (KIP-1186)."""

import asyncio
import itertools
from contextlib import AsyncExitStack

import pytest

from replica.errors import UsageError
from replica.model.kafka_errors import ErrorCode
from replica.node.assembly import opened
from replica.node.formatting import format_node
from replica.raft.messages import RemoveVoterRequest
from replica.storage.filesystem import LocalDisk
from tests.replica.node.running import CLUSTER, free_port, leads
from tests.replica.node.server_properties import settings

JOINS = {"controller__quorum__auto__join__enable": "true"}


class Started:
    """A node of a dynamic quorum whose first voter is node 1, with its task."""

    def __init__(self, folder, node_id, ports, **changed):
        folder.mkdir(exist_ok=True)
        self.said = []
        found = settings(
            folder,
            node__id=str(node_id),
            log__dirs=str(folder / "log"),
            listeners=f"CONTROLLER://127.0.0.1:{ports[node_id]}",
            controller__quorum__bootstrap__servers=f"127.0.0.1:{ports[1]}",
            controller__quorum__election__timeout__ms="100",
            controller__quorum__fetch__timeout__ms="700",
            **changed,
        )
        format_node(LocalDisk(), found, CLUSTER, standalone=node_id == 1)
        self.node, self.lock = opened(found, self.said.append)
        self.task = asyncio.create_task(self.node.run())

    @property
    def voters(self):
        return self.node.driver.host.raft.log.voters.ids

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.node.driver.shut_down(100)
        await self.task
        self.lock.close()

    async def until(self, is_so):
        while not is_so():
            if self.task.done():
                self.task.result()
            await self.node.driver.wait_for_news(0.05)


def test_an_observer_becomes_a_voter_and_is_removed_for_good(tmp_path):
    async def main():
        ports = {1: free_port(), 2: free_port()}
        everybody = {"kraftlake__principals__administrator": "*"}
        async with asyncio.timeout(60), AsyncExitStack() as stack:
            leader = Started(tmp_path / "1", 1, ports, **everybody)
            await stack.enter_async_context(leader)
            await leads(leader.node)
            joining = await stack.enter_async_context(Started(tmp_path / "2", 2, ports, **JOINS))
            await leader.until(lambda: leader.voters == (1, 2))
            await joining.until(lambda: joining.voters == (1, 2))
            key = joining.node.replica.key
            told = [notice.text for notice in joining.said if notice.event == "auto-join"]
            assert told == [f"joining the voters: add directory {key.directory_id}: NONE"]
            removal = leader.node.driver.host.raft.log.voters_offset
            await _remove(key, leader.node, joining.node)
            await leader.until(lambda: leader.voters == (1,))
            await joining.until(lambda: joining.voters == (1,))
            await asyncio.sleep(4.5)  # twice as long as its update timer runs
            assert leader.voters == (1,)
            assert leader.node.driver.host.raft.log.voters_offset > removal

    asyncio.run(main())


def test_a_node_that_may_not_join_reports_that_once(tmp_path):
    async def main():
        ports = {1: free_port(), 2: free_port()}
        async with asyncio.timeout(60), AsyncExitStack() as stack:
            leader = await stack.enter_async_context(Started(tmp_path / "1", 1, ports))
            await leads(leader.node)
            joining = await stack.enter_async_context(Started(tmp_path / "2", 2, ports, **JOINS))
            while leader.node.dispatch.denied < 2:
                await asyncio.sleep(0.05)
            told = [notice.text for notice in joining.said if notice.event == "auto-join"]
            assert len(told) == 1
            assert told[0].endswith("CLUSTER_AUTHORIZATION_FAILED")
            assert leader.voters == (1,)

    asyncio.run(main())


@pytest.mark.slow
def test_a_wiped_disk_takes_the_place_of_its_former_self(tmp_path):
    everybody = {"kraftlake__principals__administrator": "*"}

    async def main():
        ports = {node_id: free_port() for node_id in (1, 2, 3)}
        async with asyncio.timeout(90), AsyncExitStack() as stack:
            leader = Started(tmp_path / "1", 1, ports, **everybody)
            await stack.enter_async_context(leader)
            await leads(leader.node)
            other = Started(tmp_path / "3", 3, ports, **everybody, **JOINS)
            await stack.enter_async_context(other)
            await leader.until(lambda: leader.voters == (1, 3))
            async with Started(tmp_path / "2", 2, ports, **everybody, **JOINS) as first:
                await first.until(lambda: first.voters == (1, 2, 3))
                former = first.node.replica.key
            second = await stack.enter_async_context(Started(tmp_path / "x", 2, ports, **JOINS))
            new = second.node.replica.key
            assert new != former
            raft = second.node.driver.host.raft
            await second.until(lambda: raft.log.voters.is_voter(new))
            assert not raft.log.voters.is_voter(former)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"listeners": None}, "needs one of the listeners"),
        (
            {
                "controller__quorum__bootstrap__servers": None,
                "controller__quorum__voters": "1@a:1",
            },
            "makes the quorum static",
        ),
    ],
)
def test_auto_join_needs_a_dynamic_quorum_and_a_listener(tmp_path, changed, why):
    with pytest.raises(UsageError, match=f"auto.join.enable: .*{why}"):
        settings(tmp_path, **JOINS, **changed)


async def _remove(key, *nodes):
    """By whichever node leads, once no other change is pending."""
    request = RemoveVoterRequest(cluster_id=CLUSTER, voter=key)
    for node in itertools.cycle(nodes):
        answer = await node.driver.ask(request)
        if answer.error is ErrorCode.NONE:
            return
        assert answer.error in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        await asyncio.sleep(0.05)
