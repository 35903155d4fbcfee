"""TCP proxies on 127.0.0.1 in front of nodes. They record what each client asks of which node, and
the answers. Requests can be held back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from replica.errors import KraftlakeError
from replica.wire.apis import APIS
from replica.wire.frame import framed, read_frame
from replica.wire.header import decode_request, decode_response
from replica.wire.schema import Message
from tests.interop.proxies import MAX_BYTES, START, client_id, listening

_POLL_S = 0.005


@dataclass(eq=False)
class Call:
    """A request that passed. request, answer: None where our tables don't have the API. answer is
    also None until it passes, and for good where the node closed the connection instead."""

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
"""Whether a request has to wait. It is called again until the request need not wait."""


@dataclass
class Proxies:
    """The proxies. targets: as in listening. calls: all calls in the order in which they came."""

    targets: Mapping[int, tuple[int, int]]
    calls: list[Call] = field(default_factory=list)
    held: Held = lambda call: False

    def of(self, client_id: str) -> list[Call]:
        """The calls of one client."""
        return [call for call in self.calls if call.client_id == client_id]

    async def carry(
        self, node_id: int, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Carries one connection until either side ends it."""
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
        while (frame := await read_frame(reader, MAX_BYTES)) is not None:
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
        while (frame := await read_frame(reader, MAX_BYTES)) is not None:
            call = waiting.popleft()
            call.is_answered = True
            if call.request is not None:
                call.answer = decode_response(APIS[call.api_key], call.version, frame)
            writer.write(framed(frame))
            await writer.drain()


def _call(node_id: int, frame: bytes) -> Call:
    """The call. Its header is decoded by hand, so that requests which our tables lack show, too."""
    key, version, _, _ = START.unpack_from(frame)
    try:
        request: Message | None = decode_request(frame).message
    except KraftlakeError:
        request = None
    return Call(node_id, client_id(frame).decode(), key, version, request)


@contextmanager
def proxies(targets: Mapping[int, tuple[int, int]]) -> Iterator[Proxies]:
    """Proxies that listen while the block runs. targets: as in listening."""
    found = Proxies(targets)
    with listening(targets, found.carry):
        yield found
