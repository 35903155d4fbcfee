"""TCP proxies on 127.0.0.1, one in front of each of some nodes. They run in a
thread of their own."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager

from replica.errors import KraftlakeError

MAX_BYTES = 128 * 1024 * 1024
"""The most bytes of one frame."""
START = struct.Struct(">hhih")
"""The beginning of a request: API key, version, correlation id, and the length of the client id, -1
for none."""
Carry = Callable[[int, int, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Carries one connection to its end. Takes the node's id and port, and both directions of the
client's connection."""


def client_id(frame: bytes) -> bytes:
    """The client id of a request; empty if it has none. frame: the request, which is at least as
    long as START."""
    length = START.unpack_from(frame)[3]
    return frame[START.size : START.size + max(length, 0)]


@contextmanager
def listening(targets: Mapping[int, tuple[int, int]], carry: Carry) -> Iterator[None]:
    """Proxies that listen while the block runs. targets: node id -> (port of the proxy, port of the
    node). Raises OSError where a port is taken."""
    started = threading.Event()
    failed: list[BaseException] = []
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    def live() -> None:
        try:
            loop.run_until_complete(_live(targets, carry, started, done))
        except BaseException as error:  # noqa: BLE001 (told in the test's thread)
            failed.append(error)
        finally:
            loop.close()
            started.set()

    thread = threading.Thread(target=live)
    thread.start()
    started.wait()
    try:
        if failed:
            raise failed[0]
        yield
    finally:
        if not failed:
            loop.call_soon_threadsafe(done.set)
        thread.join()


async def _live(
    targets: Mapping[int, tuple[int, int]],
    carry: Carry,
    started: threading.Event,
    done: asyncio.Event,
) -> None:
    """Listens on every port until `done`."""
    tasks: set[asyncio.Task[None]] = set()
    servers = []
    for node_id, (port, target) in targets.items():

        async def accept(
            reader: asyncio.StreamReader,
            writer: asyncio.StreamWriter,
            node_id: int = node_id,
            target: int = target,
        ) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            with contextlib.suppress(OSError, KraftlakeError, asyncio.CancelledError):
                await carry(node_id, target, reader, writer)
            writer.close()
            tasks.discard(task)

        servers.append(await asyncio.start_server(accept, "127.0.0.1", port))
    started.set()
    await done.wait()
    for server in servers:
        server.close()
    for task in tuple(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
