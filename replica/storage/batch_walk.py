"""Reads the batches of a file piece by piece, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

from replica.errors import DataError, TruncatedDataError
from replica.format.batch import HEADER, LENGTH_PREFIX
from replica.format.frames import Frame, frames
from replica.format.runs import Run, runs
from replica.message.primitives import Buffer
from replica.storage.filesystem import File, ReadableFile

PIECE_BYTES = 1024 * 1024
SEARCH_BYTES = 8 * 1024
"""The number of bytes that are read at once to find an offset: two intervals of the index."""


Found = TypeVar("Found", Frame, Run)


def walk(
    file: ReadableFile,
    *,
    expected_offset: int | None,
    position: int = 0,
    end: int | None = None,
    epoch: int = -1,
    check_crc: bool = True,
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[tuple[Frame, Buffer]]:
    """Each batch from byte `position` (inclusive) to byte `end` (exclusive), with its bytes.

    expected_offset: the base offset of the first batch; None for any.
    end: None for the end of the file.
    epoch: the lowest epoch that the first batch may have.
    piece_bytes: the number of bytes that are read at once, unless a batch is larger.

    Raises DataError, which names file and byte, for bytes that `frames` refuses, and if the file
    ends within a batch.
    """
    found = partial(frames, check_crc=check_crc)
    end = file.size() if end is None else end
    return _walk(file, found, expected_offset, position, end, epoch, piece_bytes)


def frame_at(
    file: File, position: int, expected_offset: int | None = None, *, check_crc: bool = True
) -> Frame:
    """The batch that begins at byte `position`. Raises DataError, which names file and byte, if no
    batch begins there or the batch is damaged."""
    walked = walk(
        file,
        expected_offset=expected_offset,
        position=position,
        check_crc=check_crc,
        piece_bytes=SEARCH_BYTES,
    )
    for frame, _ in walked:
        return frame
    raise TruncatedDataError("no batch begins at the end", position, file.path)


def walk_runs(
    file: File,
    room: Callable[[], int],
    interval: int,
    *,
    expected_offset: int,
    position: int,
    epoch: int,
) -> Iterator[tuple[Run, Buffer]]:
    """The batches from byte `position` to the end of the file as runs of replica.format.runs, with
    the bytes of each run. Every CRC is checked. Raises DataError, which names file and byte, for
    damaged bytes, and if the file ends within a batch. room: a function that gives the number of
    bytes that may follow before a batch gets an index entry."""
    found = partial(runs, room=room, interval=interval)
    return _walk(file, found, expected_offset, position, file.size(), epoch, PIECE_BYTES)


def _walk(
    file: ReadableFile,
    found: Callable[..., Iterator[Found]],
    expected_offset: int | None,
    position: int,
    end: int,
    epoch: int,
    piece_bytes: int,
) -> Iterator[tuple[Found, Buffer]]:
    """The batches or runs in the file, with their bytes. found: the function that finds batches or
    runs in a piece of the file: `frames` or `runs`."""
    wanted = piece_bytes
    while position < end:
        piece = memoryview(file.read(position, min(wanted, end - position)))
        walked = position
        try:
            for each in found(piece, start=position, expected_offset=expected_offset, epoch=epoch):
                walked, expected_offset, epoch = each.end_position, each.end_offset, each.epoch
                yield each, piece[each.position - position : walked - position]
        except DataError as error:
            raise error.in_file(file.path) from error
        if walked > position:
            position, wanted = walked, piece_bytes
            continue
        wanted = _size_of_first(piece)
        if wanted > end - position or not piece:
            reason = f"{end - position} bytes at the end are no whole batch"
            raise TruncatedDataError(reason, position, file.path)


def _size_of_first(piece: memoryview) -> int:
    """The size in bytes of the batch at the beginning of `piece`, as its length field says, but at
    least the size of a header. The size of a header also if the piece ends before the length field
    does."""
    if len(piece) < LENGTH_PREFIX.size:
        return HEADER.size
    (_, length) = LENGTH_PREFIX.unpack_from(piece)
    return max(HEADER.size, LENGTH_PREFIX.size + int(length))


class BatchBytes(NamedTuple):
    """Whole batches of a file, one after another."""

    data: memoryview
    runs: tuple[Run, ...]
    """The same batches as runs. Their positions count from the first byte of `data`."""


def read_batches(
    file: File, *, size: int, search_from: int, start_offset: int, max_bytes: int, end_offset: int
) -> BatchBytes:
    """Whole batches, from the batch that holds `start_offset` on; empty if no batch holds that
    offset.

    size: the number of bytes of the file that count.
    search_from: the position (byte) of the batch that holds `start_offset`, or of an earlier batch.
    max_bytes: the most bytes of all batches together. A first batch that is larger is returned
        whole.
    end_offset: the batches start below this offset.

    Raises DataError, which names file and byte, for a wrong CRC.
    """
    first = _first_holding(file, size, search_from, start_offset)
    if first is None:
        return BatchBytes(memoryview(b""), ())
    wanted = max(first.size, min(max_bytes, size - first.position))
    data = memoryview(file.read(first.position, wanted))
    try:
        found = runs(data, start=0, expected_offset=first.base_offset, end_offset=end_offset)
        checked = tuple(found)
    except DataError as error:
        raise error.shifted(first.position).in_file(file.path) from error
    return BatchBytes(data[: checked[-1].end_position if checked else 0], checked)


def frame_holding(file: File, size: int, search_from: int, offset: int) -> Frame:
    """The batch that holds `offset`, which the file must hold. The CRC isn't checked. `size`
    and `search_from` are those of read_batches."""
    found = _first_holding(file, size, search_from, offset)
    assert found is not None, "an offset the file doesn't hold"
    return found


def _first_holding(file: File, size: int, search_from: int, offset: int) -> Frame | None:
    candidates = walk(
        file,
        expected_offset=None,
        position=search_from,
        end=size,
        check_crc=False,
        piece_bytes=SEARCH_BYTES,
    )
    return next((frame for frame, _ in candidates if frame.last_offset >= offset), None)
