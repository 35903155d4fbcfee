"""Frames on a connection: an int32 size, then so many bytes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from replica.errors import CorruptDataError, TruncatedDataError

_SIZE_BYTES = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds, sizes in bytes.

    request_max_bytes: of a frame (Kafka: socket.request.max.bytes, there 100 MiB; a batch has at
    most 8 MiB). max_connections: at once; more are closed at once. idle_s: how long a connection
    may say nothing (connections.max.idle.ms). transfer_s: how long one frame may take to come, or
    to be taken. handshake_s: until a client has authenticated. linger_s: for what is on its way
    when a connection is closed, TLS's goodbye among it. failed_login_s: until the answer to a
    wrong password goes out (Kafka: connection.failed.authentication.delay.ms, there 100).
    """

    request_max_bytes: int = 16 * 1024 * 1024
    max_connections: int = 1000
    idle_s: float = 600.0
    transfer_s: float = 30.0
    handshake_s: float = 10.0
    linger_s: float = 5.0
    failed_login_s: float = 1.0
    unknown_max_bytes: int = 512 * 1024
    queued_max_bytes: int = 256 * 1024 * 1024

    def __post_init__(self) -> None:
        assert self.request_max_bytes <= self.queued_max_bytes, "the largest frame must have room"


async def read_frame(reader: asyncio.StreamReader, max_bytes: int) -> bytes | None:
    """The next frame without its size, of 0 to `max_bytes` bytes; None at the end of the stream.

    Memory is taken as bytes come, not by the size that is claimed. Raises CorruptDataError for an
    impossible size, TruncatedDataError where the stream ends inside a frame.
    """
    size = await read_size(reader, max_bytes)
    return None if size is None else await read_rest(reader, size)


async def read_size(reader: asyncio.StreamReader, max_bytes: int) -> int | None:
    """The size of the next frame."""
    raw = await _read(reader, _SIZE_BYTES, 0)
    if not raw:
        return None
    size = int.from_bytes(raw, "big", signed=True)
    if not 0 <= size <= max_bytes:
        raise CorruptDataError(f"a frame of {size} bytes; at most {max_bytes} are taken", 0)
    return size


async def read_rest(reader: asyncio.StreamReader, size: int) -> bytes:
    """The frame after its size."""
    raw = await _read(reader, size, _SIZE_BYTES)
    if len(raw) < size:
        raise TruncatedDataError(f"a frame of {size} bytes ends after {len(raw)}", _SIZE_BYTES)
    return raw


async def _read(reader: asyncio.StreamReader, size: int, position: int) -> bytes:
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        if error.partial and not position:
            reason = f"a frame ends after {len(error.partial)} bytes of its size"
            raise TruncatedDataError(reason, position) from error
        return error.partial


class Budget:
    """Bytes that all connections share, given out in the order of asking."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def of(self, size: int) -> AsyncIterator[None]:
        """Wait until `size` bytes are free; they are taken for the block."""
        if self._waiting or size > self._left:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((size, turn))
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._give(size)  # it came together with the end
                raise
        else:
            self._left -= size
        try:
            yield
        finally:
            self._give(size)

    def _give(self, size: int) -> None:
        self._left += size
        while self._waiting and (self._waiting[0][1].done() or self._waiting[0][0] <= self._left):
            wanted, turn = self._waiting.popleft()
            if not turn.done():
                self._left -= wanted
                turn.set_result(None)


def framed(payload: bytes) -> bytes:
    """A frame with its size."""
    return size_of_frame(len(payload)) + payload


def size_of_frame(size: int) -> bytes:
    """What stands before a frame of `size` bytes."""
    return size.to_bytes(_SIZE_BYTES, "big")
