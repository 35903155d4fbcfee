"""Frames on a connection: the size as an int32, then the bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from replica.errors import CorruptDataError, TruncatedDataError
from replica.message.primitives import Buffer

_SIZE_BYTES = 4
_RECEIVED_BYTES = 64 * 1024
_JOINED_BYTES = 64 * 1024
"""Pieces of a frame are copied together into one part of at most this size."""
_SENT_BYTES = 256 * 1024
"""The size of the largest part of a frame that is given to the socket in one call. Each part costs
an iteration of the event loop. asyncio copies the bytes of a part that the socket doesn't take at
once, so asyncio copies at most one part for each connection."""


async def read_frame(reader: asyncio.StreamReader, max_bytes: int) -> bytes | None:
    """The next frame without its size, of 0 to `max_bytes` bytes; None at the end of the stream.

    Memory is allocated for bytes that have arrived, not for the size that the frame claims. Raises
    CorruptDataError for an impossible size, TruncatedDataError if the stream ends inside a frame.
    """
    size = await read_size(reader, max_bytes)
    return None if size is None else await read_rest(reader, size)


async def read_size(reader: asyncio.StreamReader, max_bytes: int) -> int | None:
    """The size of the next frame in bytes; None at the end of the stream. Raises CorruptDataError
    for an impossible size, TruncatedDataError if the stream ends inside the size."""
    try:
        raw = await reader.readexactly(_SIZE_BYTES)
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        reason = f"a frame ends after {len(error.partial)} bytes of its size"
        raise TruncatedDataError(reason, 0) from error
    size = int.from_bytes(raw, "big", signed=True)
    if not 0 <= size <= max_bytes:
        raise CorruptDataError(f"a frame of {size} bytes; at most {max_bytes} are taken", 0)
    return size


async def read_rest(reader: asyncio.StreamReader, size: int) -> bytes:
    """The rest of a frame, after its size was read. Raises TruncatedDataError if the stream ends
    inside the frame."""
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        raise _breaks_off(size, len(error.partial)) from error


async def read_charged(
    reader: asyncio.StreamReader, size: int, charge: Callable[[int], Awaitable[None]]
) -> bytearray:
    """The rest of a frame, after its size was read, with limited memory. charge: a function that is
    awaited with the number of bytes that have arrived, before more bytes are read. Raises
    TruncatedDataError if the stream ends inside the frame."""
    parts = bytearray()
    while len(parts) < size:
        part = await reader.read(min(_RECEIVED_BYTES, size - len(parts)))
        if not part:
            raise _breaks_off(size, len(parts))
        parts += part
        await charge(len(part))
    return parts


def _breaks_off(size: int, come: int) -> TruncatedDataError:
    return TruncatedDataError(f"a frame of {size} bytes ends after {come}", _SIZE_BYTES)


async def send(
    writer: asyncio.StreamWriter,
    pieces: Sequence[Buffer],
    moved: Callable[[int], None] = lambda size: None,
) -> None:
    """Send the pieces as one frame. Returns when most of the frame has left memory. moved: a
    function that is called with the number of bytes that were sent. The frame is sent in parts,
    because asyncio's TLS buffers any amount at once, and delays only later writes."""
    for part in _parts([size_of_frame(sum(map(len, pieces))), *pieces]):
        writer.write(part)
        await writer.drain()
        moved(len(part))


def _parts(pieces: Sequence[Buffer]) -> Iterator[Buffer]:
    """The bytes of the pieces in parts of at most _SENT_BYTES. Small pieces are copied into one
    part, because each part is a system call and may wake the reader. At most the last _JOINED_BYTES
    of a large piece are copied."""
    joined = bytearray()
    for piece in pieces:
        view = memoryview(piece)
        if joined and len(joined) + len(view) > _JOINED_BYTES:
            yield joined
            joined = bytearray()
        while len(view) > _JOINED_BYTES:
            yield view[:_SENT_BYTES]
            view = view[_SENT_BYTES:]
        joined += view
    if joined:
        yield joined


def framed(payload: bytes) -> bytes:
    """The frame with its size in front."""
    return size_of_frame(len(payload)) + payload


def size_of_frame(size: int) -> bytes:
    """The size that stands before a frame of `size` bytes."""
    return size.to_bytes(_SIZE_BYTES, "big")
