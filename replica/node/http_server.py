"""Serves a few pages over HTTP, for Prometheus and for probes, in the node's event loop.

There are few clients, so the server accepts few connections and short requests. At the limit of
connections, the oldest connection is closed for a new connection. Each connection gets one answer
and is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass

from replica.wire.acceptor import Acceptor, streams
from replica.wire.connections import Connected, ListenerConnections, address_of
from replica.wire.limits import NodeLimits

MAX_CONNECTIONS = 16
MAX_REQUEST_BYTES = 8 * 1024
WITHIN_S = 5.0
"""The time (s) in which a client must send its request and take the answer. After this time the
server closes the connection."""

OK, UNAVAILABLE = "200 OK", "503 Service Unavailable"


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer of the server."""

    kind: str
    """The content type of the body."""
    content: bytes
    status: str = OK
    """The status number and text in the first line of the answer."""


Pages = Callable[[str, str], HttpResponse]
"""A function that takes the path (without the query) and the client's Accept header, and returns
the answer. The function is called in the event loop, so it must not wait."""


class HttpServer:
    """Answers GET and HEAD requests with the results of `pages`."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        limits = NodeLimits(max_connections=MAX_CONNECTIONS, per_address=MAX_CONNECTIONS)
        self._connections = ListenerConnections(limits)
        self._acceptor = Acceptor(self._arrived, self._failed)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> int:
        """Begin to listen. Returns the port; for port 0 the system chooses a free port. Raises
        OSError if the address can't be used."""
        return await self._acceptor.start(host, port)

    async def close(self) -> None:
        """Stop listening. Clients that wait for an answer get no answer."""
        self._acceptor.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _failed(self, error: OSError) -> None:
        self._connections.make_room()

    def _arrived(self, connection: socket.socket, host: str) -> None:
        task = asyncio.create_task(self._serve(connection))

        def close(why: str) -> None:
            task.cancel()

        connected = Connected(address_of(host), "", close)
        self._tasks.add(task)

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self._connections.leave(connected)
            connection.close()

        task.add_done_callback(ended)
        if self._connections.admit(connected):
            task.cancel()

    async def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            reader, writer = await streams(connection)
            try:
                async with asyncio.timeout(WITHIN_S):
                    writer.write(self._answer(await _request(reader)))
                    writer.write_eof()
                    await writer.drain()
                    # the client closes the connection when it has read the whole answer
                    await reader.read(1)
            finally:
                writer.transport.abort()

    def _answer(self, request: bytes | None) -> bytes:
        if request is None:
            return _response("431 Request Header Fields Too Large", "text/plain", b"")
        first, *headers = request.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if words[0] not in ("GET", "HEAD") or len(words) != 3:
            return _response("405 Method Not Allowed", "text/plain", b"")
        accepted = [
            value.strip()
            for name, _, value in (header.partition(":") for header in headers)
            if name.strip().lower() == "accept"
        ]
        found = self._pages(words[1].partition("?")[0], ",".join(accepted))
        is_sent = words[0] == "GET"
        return _response(found.status, found.kind, found.content, is_sent=is_sent)


async def _request(reader: asyncio.StreamReader) -> bytes | None:
    """The lines of the request, up to the empty line. None if the request is too long."""
    with contextlib.suppress(asyncio.LimitOverrunError):
        found = await reader.readuntil(b"\r\n\r\n")
        if len(found) <= MAX_REQUEST_BYTES:
            return found
    return None


def _response(status: str, kind: str, content: bytes, *, is_sent: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + (content if is_sent else b"")
