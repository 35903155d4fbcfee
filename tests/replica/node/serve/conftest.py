"""A quorum of three nodes inside this process."""

import asyncio

import pytest

from tests.replica.node.running import quorum_of_three


@pytest.fixture
def in_quorum(tmp_path):
    """A function that runs `story(leader, followers)` in a new quorum. Its named arguments are
    settings of all nodes."""

    def run(story, **changed):
        async def main():
            async with asyncio.timeout(120), quorum_of_three(tmp_path, **changed) as quorum:
                await story(*quorum)

        asyncio.run(main())

    return run
