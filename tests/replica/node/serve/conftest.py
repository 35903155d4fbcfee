"""A quorum of three nodes inside this process."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from replica.raft.roles.leader import Leader
from tests.replica.node.running import free_port, running


@pytest.fixture
def in_quorum(tmp_path):
    """Runs `story(leader, followers)`; node N is in rack rN. changed: settings of all."""

    def run(story, **changed):
        async def main():
            ports = {node_id: free_port() for node_id in (1, 2, 3)}
            voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in ports.items())
            async with asyncio.timeout(60), AsyncExitStack() as stack:
                nodes = []
                for node_id, port in ports.items():
                    folder = tmp_path / str(node_id)
                    folder.mkdir()
                    settings = {"controller__quorum__voters": voters, "broker__rack": f"r{node_id}"}
                    started = running(folder, node_id, port, **settings, **changed)
                    nodes.append(await stack.enter_async_context(started))
                leader = await leader_of(nodes)
                await story(leader, [node for node in nodes if node is not leader])

        asyncio.run(main())

    return run


async def leader_of(nodes):
    while True:
        for node in nodes:
            raft = node.driver.host.raft
            if isinstance(raft.role, Leader) and raft.high_watermark is not None:
                return node
        await asyncio.sleep(0.02)
