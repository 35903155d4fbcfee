"""Searches for the next batch behind a damaged place.

A position is likely if its 61 bytes could be a header that Kafka wrote. In random bytes, one of
2^30 positions is likely. A CRC is computed only at likely positions. A hostile file could have many
false headers and so make the search slow. Therefore a search has a credit, in bytes. The bytes
whose CRC was computed for a false header are taken from it, and each passed byte adds a few. A
batch that is longer than the rest of the credit is not checked. A batch that is longer than half
of the credit is checked only if another header, or the end of the source, follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from replica.errors import DataError
from replica.format.batch import (
    CRC_START,
    HEADER,
    LENGTH_PREFIX,
    MAGIC_POSITION,
    BatchHeader,
    continued_crc,
    decode_header,
    is_plausible,
)
from replica.format.byte_source import ByteSource

CREDIT_BYTES = 64 * 1024 * 1024
"""The number of bytes whose CRC may be computed without success for any source, in addition to the
source's size."""
CREDIT_PER_BYTE = 4
"""The number of bytes that each passed byte adds to the credit."""
BLOCK_BYTES = 1024 * 1024
"""The most bytes that are read at a time."""
_FIRST_BLOCK_BYTES = 4096
"""The size of a search's first read. It is small, because the next batch is usually near."""
_NOT_NEGATIVE = rb"[\x00-\x7f]"
_MINUS_ONE_OR_MORE = rb"[\x00-\x7f\xff]"
_CODECS = 5


class BatchSearch:
    """Finds batches with a valid CRC in a source, and counts the cost of false headers.

    left_out: whether the last search left out likely positions that were too costly to check.
    """

    def __init__(self, source: ByteSource) -> None:
        self.left_out = False
        self._source = source
        self._spent = 0

    def credit(self, position: int) -> int:
        """The number of bytes whose CRC may be computed at this position of the source."""
        return CREDIT_BYTES + self._source.size + CREDIT_PER_BYTE * position - self._spent

    def charge(self, size: int) -> None:
        """Note that the CRC of `size` bytes was computed without success."""
        self._spent += size

    def first_batch(self, begin: int, before: int) -> int | None:
        """The first position from `begin` (inclusive) to `before` (exclusive) at which a whole
        batch starts; None if there is none."""
        self.left_out = False
        for position, header in self._likely(begin, before):
            if not self._affords(position, header.size_bytes):
                self.left_out = True
            elif self.computed_crc(position, header.size_bytes) == header.crc:
                return position
            else:
                self.charge(header.size_bytes)
        return None

    def starts_batch(self, position: int) -> bool:
        """Whether the bytes at the position could be Kafka's header of a batch that fits into the
        source."""
        return self._plausible_header(position) is not None

    def computed_crc(self, position: int, size: int) -> int:
        """The CRC of the batch of `size` bytes at the position, computed from its bytes."""
        checksum, end = 0, position + size
        for begin in range(position + CRC_START, end, BLOCK_BYTES):
            block = self._source.read(begin, min(BLOCK_BYTES, end - begin))
            checksum = continued_crc(block, checksum)
        return checksum

    def _affords(self, position: int, size: int) -> bool:
        """Whether the credit covers the CRC of a batch of this size. A batch may use up more than
        half of the credit only if another header, or the end of the source, follows it."""
        credit = self.credit(position)
        end = position + size
        return size <= credit // 2 or (
            size <= credit and (end == self._source.size or self.starts_batch(end))
        )

    def _likely(self, begin: int, before: int) -> Iterator[tuple[int, BatchHeader]]:
        """The positions from `begin` on whose bytes are a plausible header, each with the
        header."""
        pattern = _header_pattern(self._source.size)
        block_bytes = _FIRST_BLOCK_BYTES
        while begin < before and begin + HEADER.size <= self._source.size:
            starts = min(block_bytes, before - begin)
            size = min(starts + HEADER.size - 1, self._source.size - begin)
            block = self._source.read(begin, size)
            for found in pattern.finditer(block):
                position = begin + found.start() - MAGIC_POSITION
                header = self._plausible_header(position)
                if header is not None:
                    yield position, header
            begin += starts
            block_bytes = min(2 * block_bytes, BLOCK_BYTES)

    def _plausible_header(self, position: int) -> BatchHeader | None:
        left = self._source.size - position
        if left < HEADER.size:
            return None
        try:
            header = decode_header(self._source.read(position, HEADER.size))
        except DataError:
            return None
        return header if header.size_bytes <= left and is_plausible(header) else None

    def frame_fits(self, position: int) -> bool:
        """Whether the length at the position could be the length of a batch of any magic within the
        data."""
        (_, length) = LENGTH_PREFIX.unpack(self._source.read(position, LENGTH_PREFIX.size))
        # a batch of magic 0 is the shortest: its length counts the 14 bytes of an empty record
        return 14 <= int(length) <= self._source.size - position - LENGTH_PREFIX.size


def _header_pattern(size: int) -> re.Pattern[bytes]:
    """A pattern that matches the magic byte of possible headers in a source of `size` bytes.

    It matches every header that is_plausible accepts, and some others. A pattern skips all other
    bytes at the speed of C.
    """
    longest = re.escape(bytes([min(size >> 24, 0x7F)]))
    attributes = bytes(low for low in range(0x80) if low & 7 < _CODECS)
    base_offset = _NOT_NEGATIVE + rb".{7}"
    length = rb"[\x00-" + longest + rb"].{3}"
    epoch = _MINUS_ONE_OR_MORE + rb".{3}"
    behind_the_crc = (
        rb"\x00[" + re.escape(attributes) + rb"]",
        _NOT_NEGATIVE + rb".{3}",  # last offset delta
        rb".{16}",  # base and max timestamp
        _MINUS_ONE_OR_MORE + rb".{7}",  # producer id
        _MINUS_ONE_OR_MORE + rb".",  # producer epoch
        _MINUS_ONE_OR_MORE + rb".{3}",  # base sequence
        _NOT_NEGATIVE + rb".{3}",  # record count
    )
    before = rb"(?<=" + base_offset + length + epoch + rb"\x02)"
    behind = rb"(?=.{4}" + b"".join(behind_the_crc) + rb")"
    return re.compile(rb"\x02" + behind + before, re.DOTALL)
