"""A frame of several pieces: sent in parts, received as one."""

import asyncio
import socket

import pytest

from replica.wire.frame import read_frame, send

PIECE = 64 * 1024
PART = 256 * 1024


async def sent_and_received(pieces: list[bytes]) -> tuple[bytes | None, list[int]]:
    """The frame as it came over a socket, and the sizes of the parts in which it was sent."""
    ours, theirs = socket.socketpair()
    moved: list[int] = []
    reader, closing = await asyncio.open_connection(sock=theirs)
    _, writer = await asyncio.open_connection(sock=ours)
    received = asyncio.create_task(read_frame(reader, 4 * PART))
    await send(writer, pieces, moved.append)
    frame = await received
    writer.close()
    closing.close()
    return frame, moved


@pytest.mark.parametrize(
    "sizes",
    [
        (),
        (0, 5),
        (PIECE - 4, 1),
        (PIECE, 1, PIECE),
        (10, PIECE + 1, 10),
        (PART, PART + 1),
        (3, 3 * PART - 1, 2),
    ],
)
def test_a_frame_arrives_whole_in_parts_of_at_most_256_kib(sizes: tuple[int, ...]) -> None:
    pieces = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    frame, moved = asyncio.run(sent_and_received(pieces))
    assert frame == b"".join(pieces)
    assert sum(moved) == 4 + sum(sizes)
    assert max(moved) <= PART


def test_small_pieces_of_a_frame_are_sent_in_one_part() -> None:
    frame, moved = asyncio.run(sent_and_received([b"ab", b"", b"cd" * 1000]))
    assert (frame, moved) == (b"ab" + b"cd" * 1000, [2006])
