"""TCP proxies on 127.0.0.1 in front of nodes: what each client asks of which node, and what it is
told. Requests can be held back."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from replica.errors import KraftlakeError
from replica.wire.apis import APIS
from replica.wire.frame import framed, read_frame
from replica.wire.header import decode_request, decode_response
from replica.wire.schema import Message

_START = struct.Struct(">hhih")
"""API key, version, correlation id, and the length of the client id, -1 for none."""
_MAX_BYTES = 128 * 1024 * 1024
_POLL_S = 0.005


@dataclass(eq=False)
class Call:
    """A request as it passed. request, answer: None where our tables don't have the API; answer
    also until it passes, and for good where the node closed the connection instead."""

    node_id: int
    client_id: str
    api_key: int
    version: int
    request: Message | None
    answer: Message | None = None
    is_answered: bool = False

    @property
    def api(self) -> str:
        return str(APIS[self.api_key]) if self.api_key in APIS else f"API key {self.api_key}"


Held = Callable[[Call], bool]
"""Whether a request has to wait; asked again until it needn't."""


@dataclass
class Proxies:
    """targets: node id -> (port of the proxy, port of the node). calls: all, as they came."""

    targets: Mapping[int, tuple[int, int]]
    calls: list[Call] = field(default_factory=list)
    held: Held = lambda call: False

    def of(self, client_id: str) -> list[Call]:
        """The calls of one client."""
        return [call for call in self.calls if call.client_id == client_id]

    async def live(self, started: Callable[[], object], done: asyncio.Event) -> None:
        """Listen on every port until `done`."""
        tasks: set[asyncio.Task[None]] = set()
        servers = []
        for node_id, (port, target) in self.targets.items():

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
                    await self._carry(node_id, target, reader, writer)
                writer.close()
                tasks.discard(task)

            servers.append(await asyncio.start_server(accept, "127.0.0.1", port))
        started()
        await done.wait()
        for server in servers:
            server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry(
        self, node_id: int, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One connection, to its end on either side."""
        answers, requests = await asyncio.open_connection("127.0.0.1", target)
        waiting: deque[Call] = deque()
        pumps = {
            asyncio.create_task(self._requests(node_id, reader, requests, waiting)),
            asyncio.create_task(self._answers(answers, writer, waiting)),
        }
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in done:
                pump.result()
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            requests.close()

    async def _requests(
        self,
        node_id: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        waiting: deque[Call],
    ) -> None:
        while (frame := await read_frame(reader, _MAX_BYTES)) is not None:
            call = _call(node_id, frame)
            self.calls.append(call)
            while self.held(call):
                await asyncio.sleep(_POLL_S)
            waiting.append(call)
            writer.write(framed(frame))
            await writer.drain()

    async def _answers(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        waiting: deque[Call],
    ) -> None:
        while (frame := await read_frame(reader, _MAX_BYTES)) is not None:
            call = waiting.popleft()
            call.is_answered = True
            if call.request is not None:
                call.answer = decode_response(APIS[call.api_key], call.version, frame)
            writer.write(framed(frame))
            await writer.drain()


def _call(node_id: int, frame: bytes) -> Call:
    """Its header by hand, so that requests show that our tables lack."""
    key, version, _, length = _START.unpack_from(frame)
    client_id = frame[_START.size : _START.size + max(length, 0)].decode()
    try:
        request: Message | None = decode_request(frame).message
    except KraftlakeError:
        request = None
    return Call(node_id, client_id, key, version, request)


@contextmanager
def proxies(targets: Mapping[int, tuple[int, int]]) -> Iterator[Proxies]:
    """Listening in a thread of their own."""
    found = Proxies(targets)
    started = threading.Event()
    failed: list[BaseException] = []
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    def live() -> None:
        try:
            loop.run_until_complete(found.live(started.set, done))
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
        yield found
    finally:
        if not failed:
            loop.call_soon_threadsafe(done.set)
        thread.join()
