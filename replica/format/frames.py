"""Reads batches one after another in bytes that should hold nothing else: a replica's own log, or a
fetch.

Two other modules also walk over frames. replica.format.walk reads logs that may be damaged
anywhere, and continues behind each damage. replica.scan.kernels.frames is compiled, and leaves
unexpected bytes to replica.format.walk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from replica.errors import CorruptDataError, DataError
from replica.format.batch import (
    CONTROL_ATTRIBUTE,
    CRC_START,
    HEADER,
    LENGTH_PREFIX,
    MAGIC,
    MIN_BATCH_LENGTH,
    decode_header,
)
from replica.format.checksum import crc32c
from replica.message.primitives import Buffer


class Frame(NamedTuple):
    """A whole batch in a file."""

    position: int
    """The byte of the file at which the frame begins."""
    size: int
    """The size of the frame in bytes."""
    base_offset: int
    last_offset: int
    """The last offset of the frame (inclusive)."""
    epoch: int
    max_timestamp: int
    is_control: bool

    @property
    def end_position(self) -> int:
        return self.position + self.size

    @property
    def end_offset(self) -> int:
        """The end offset (exclusive)."""
        return self.last_offset + 1


def frames(
    data: Buffer,
    *,
    start: int,
    expected_offset: int | None,
    epoch: int = -1,
    check_crc: bool = True,
    holes: bool = False,
) -> Iterator[Frame]:
    """The whole batches of `data`. An incomplete batch at the end ends the iteration.

    start: the byte of the file at which `data` begins.
    expected_offset: the base offset of the first batch; None for any that isn't negative.
    epoch: the lowest leader epoch that the first batch may have.
    check_crc: whether the CRCs are checked.
    holes: whether offsets may be missing between batches and epochs may fall, as in compacted logs
        of other topics.

    Raises DataError, with the byte in the file, for a batch whose frame or CRC is wrong, whose
    offset doesn't follow the previous batch, or whose epoch is lower than the previous epoch.
    """
    view = memoryview(data)
    unpack, crc_of = HEADER.unpack_from, crc32c
    at, end = 0, len(view)
    while at + HEADER.size <= end:
        base, length, leader_epoch, magic, crc, attributes, delta, _, latest = unpack(view, at)[:9]
        if expected_offset is None:
            expected_offset = max(base, 0)
        if magic != MAGIC or length < MIN_BATCH_LENGTH or delta < 0 or base < expected_offset:
            raise _misfit(view, at, start, expected_offset, holes=holes)
        if base != expected_offset and not holes:
            raise _misfit(view, at, start, expected_offset, holes=holes)
        after = at + LENGTH_PREFIX.size + length
        if after > end:
            return
        if check_crc and crc_of(view[at + CRC_START : after]) != crc:
            reason = f"batch {base}-{base + delta}: its CRC is not that of its bytes"
            raise CorruptDataError(reason, start + at)
        if leader_epoch < epoch and not holes:
            reason = f"leader epoch {leader_epoch} after {epoch} at offset {base}"
            raise CorruptDataError(reason, start + at)
        epoch, expected_offset = leader_epoch, base + delta + 1
        control_batch = bool(attributes & CONTROL_ATTRIBUTE)
        yield Frame(start + at, after - at, base, base + delta, epoch, latest, control_batch)
        at = after


def _misfit(
    view: memoryview, at: int, start: int, expected_offset: int, *, holes: bool
) -> DataError:
    try:
        header = decode_header(view, at)
    except DataError as error:
        return type(error)(error.reason, start + at)
    wanted = f"{expected_offset} or later" if holes else f"{expected_offset}"
    reason = f"batch starts at offset {header.base_offset} instead of {wanted}"
    return CorruptDataError(reason, start + at)
