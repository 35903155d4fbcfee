"""A node listens on the addresses that its settings name, and on no others of its machine."""

import asyncio
import sys

import pytest

from tests.replica.node.running import free_port, running

ANOTHER = "127.0.0.2"
"""Of the same machine, on Linux."""


async def is_open(host, port):
    try:
        _, writer = await asyncio.open_connection(host, port)
    except ConnectionRefusedError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address")
def test_a_listener_and_the_metrics_are_open_at_their_own_address_alone(tmp_path):
    async def main():
        metrics = free_port()
        settings = {"kraftlake__metrics__listener": f"127.0.0.1:{metrics}"}
        async with asyncio.timeout(60), running(tmp_path, **settings) as node:
            (listener,) = node.settings.listeners
            for port in (listener.port, metrics):
                while not await is_open("127.0.0.1", port):  # metrics come after the listener
                    await asyncio.sleep(0.01)
                assert not await is_open(ANOTHER, port)

    asyncio.run(main())
