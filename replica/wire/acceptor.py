"""Listens, and accepts connections.

asyncio's own servers accept up to a hundred connections at once, and try again without a pause when
the process has no free file descriptor. Here each iteration of the event loop accepts at most
AT_ONCE connections, and after an error the acceptor pauses for PAUSE_S.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable

from replica.wire.client import NO_HOST_NAME
from replica.wire.limits import ListenerLimits

BACKLOG = 512
"""The most connections that wait in the operating system to be accepted."""
AT_ONCE = 8
"""The most connections that are accepted in one iteration of the event loop."""
PAUSE_S = 0.2
"""The pause in seconds after an error of accept, which usually means that the process has no free
file descriptor."""
READ_AHEAD_BYTES = 32 * 1024
"""asyncio's `limit`: a connection is not read while more than twice this many bytes wait for the
reader."""

_NO_LIMITS = ListenerLimits(receive_buffer_bytes=None, send_buffer_bytes=None)

Arrived = Callable[[socket.socket, str], None]
"""A function that takes a connection and the host at its other end. The function must not wait."""


class Acceptor:
    """Listens for one server.

    arrived: a function that takes each connection, and later closes the connection.
    failed: a function that is called with each error of accept.
    """

    def __init__(self, arrived: Arrived, failed: Callable[[OSError], None]) -> None:
        self.sockets: list[socket.socket] = []
        self._arrived = arrived
        self._failed = failed
        self._paused: set[asyncio.TimerHandle] = set()

    async def start(self, host: str, port: int, limits: ListenerLimits = _NO_LIMITS) -> int:
        """Listen on all addresses of a host; "" means all addresses of this machine. limits: the
        sizes of the sockets' buffers. Returns the port; for port 0 the system chooses a free port.
        Raises OSError if listening fails."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(
                host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
        except UnicodeError as error:  # the codec for host names (IDNA) raises it
            raise OSError(errno.EINVAL, NO_HOST_NAME) from error
        try:
            for family, _, _, _, address in dict.fromkeys(found):
                listening = self._bound(family, address)
                if listening is None:
                    continue
                for option, size in (
                    (socket.SO_RCVBUF, limits.receive_buffer_bytes),
                    (socket.SO_SNDBUF, limits.send_buffer_bytes),
                ):
                    if size is not None:
                        listening.setsockopt(socket.SOL_SOCKET, option, size)
                # Accepted sockets inherit TCP_NODELAY. asyncio sets it only for sockets that name
                # their protocol; accepted sockets name none. Without TCP_NODELAY, the second part
                # of an answer waits for an acknowledgement, which the other side delays by 40 ms.
                listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                listening.listen(BACKLOG)
        except OSError:
            self.close()
            raise
        for listening in self.sockets:
            loop.add_reader(listening, self._accept, listening)
        bound: int = self.sockets[0].getsockname()[1]
        return bound

    def close(self) -> None:
        """Stop listening."""
        loop = asyncio.get_running_loop()
        for paused in self._paused:
            paused.cancel()
        for listening in self.sockets:
            loop.remove_reader(listening)
            listening.close()
        self.sockets.clear()

    def _bound(self, family: int, address: tuple[object, ...]) -> socket.socket | None:
        try:
            listening = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            return None  # This machine has no IPv6.
        self.sockets.append(listening)
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        return listening

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._failed(error)
                self._pause(listening)
                return
            connection.setblocking(False)
            self._arrived(connection, address[0])

    def _pause(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)

        def go_on() -> None:
            self._paused.discard(paused)
            loop.add_reader(listening, self._accept, listening)

        paused = loop.call_later(PAUSE_S, go_on)
        self._paused.add(paused)


async def streams(
    connection: socket.socket,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The reader and the writer of an accepted connection. The writer's start_tls does the server's
    part of the TLS handshake. Closing the writer closes the connection."""
    made: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(READ_AHEAD_BYTES, loop)
    protocol = asyncio.StreamReaderProtocol(reader, lambda *both: made.append(both), loop)
    try:
        await loop.connect_accepted_socket(lambda: protocol, connection)
    except BaseException:
        connection.close()
        raise
    return made[0]
