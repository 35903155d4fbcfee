"""The record batch of magic 2, the unit of the log (Kafka: DefaultRecordBatch).

bytes  field                    type    covered by the CRC
0      base offset              int64   no
8      batch length             int32   no    bytes after this field
12     partition leader epoch   int32   no    Raft's term; a leader sets it after the CRC
16     magic                    int8    no    always 2
17     crc                      uint32  -     CRC-32C of byte 21 to the end
21     attributes               int16   yes   0-2 codec, 3 append time, 4 transactional,
                                              5 control, 6 delete horizon
23     last offset delta        int32   yes
27     base timestamp           int64   yes   ms since 1970 (UTC)
35     max timestamp            int64   yes
43     producer id              int64   yes   -1 in a KRaft log, like the next two
51     producer epoch           int16   yes
53     base sequence            int32   yes
57     record count             int32   yes
61     records                          yes   see replica.format.record
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.checksum import crc32c
from replica.message.primitives import Buffer, require

HEADER = struct.Struct(">qiibIhiqqqhii")
LENGTH_PREFIX = struct.Struct(">qi")
CRC_START = struct.calcsize(">qiibI")
MAGIC_POSITION = struct.calcsize(">qii")
MAGIC = 2
MIN_BATCH_LENGTH = HEADER.size - LENGTH_PREFIX.size

_CODEC_MASK = 0x07
_APPEND_TIME = 0x08
CONTROL_ATTRIBUTE = 0x20
_RESERVED_MASK = ~0x7F
_LAST_CODEC = 4
MIN_RECORD_BYTES = 7
"""The size of an empty, uncompressed record: one byte each for its length, attributes, two deltas,
two lengths and the count of headers."""
_MAX_INT64 = 2**63 - 1
"""The highest end offset (exclusive)."""


class BatchHeader(NamedTuple):
    """The 61 bytes before a batch's records. Times are in ms since 1970 (UTC)."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """The size in bytes of the whole batch, with this header."""
        return LENGTH_PREFIX.size + self.batch_length

    @property
    def last_offset(self) -> int:
        """The offset of the last record, inclusive."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after the last offset of the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        """The compression type: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."""
        return self.attributes & _CODEC_MASK

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_ATTRIBUTE)

    @property
    def is_append_time(self) -> bool:
        """Whether every record's time is the batch's max timestamp (LogAppendTime)."""
        return bool(self.attributes & _APPEND_TIME)


def decode_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`.

    Raises TruncatedDataError if fewer than 61 bytes are left, CorruptDataError for a length or an
    offset range that no batch can have, UnsupportedDataError for another magic.
    """
    require(buffer, position, HEADER.size, "batch header")
    header = BatchHeader._make(HEADER.unpack_from(buffer, position))
    if header.base_offset < 0:
        # These errors show no numbers, which may be bytes of a secret; only the magic is shown
        raise CorruptDataError("the base offset is negative", position)
    if header.magic != MAGIC:
        raise UnsupportedDataError(f"batch magic {header.magic}, expected {MAGIC}", position)
    if header.batch_length < MIN_BATCH_LENGTH:
        raise CorruptDataError(f"the batch length is below {MIN_BATCH_LENGTH}", position)
    if header.last_offset_delta < 0:
        raise CorruptDataError("the last offset delta is negative", position)
    if header.last_offset >= _MAX_INT64:
        raise CorruptDataError(f"the batch ends above the highest offset, {_MAX_INT64}", position)
    return header


def is_plausible(header: BatchHeader) -> bool:
    """Whether Kafka could have written this header, by its fields.

    The leader epoch is -1 until a leader sets it. A compacted batch may lack offsets, but no batch
    has more records than offsets.
    """
    room = header.batch_length - MIN_BATCH_LENGTH
    return (
        not header.attributes & _RESERVED_MASK
        and header.codec <= _LAST_CODEC
        and header.leader_epoch >= -1
        and min(header.producer_id, header.producer_epoch, header.base_sequence) >= -1
        and 0 <= header.record_count <= header.last_offset_delta + 1
        and (header.codec != 0 or header.record_count * MIN_RECORD_BYTES <= room)
    )


def encode_header(header: BatchHeader) -> bytes:
    """The 61 bytes of a header, with the CRC that it holds."""
    return HEADER.pack(*header)


def computed_crc(batch: Buffer) -> int:
    """The CRC-32C of a whole batch, computed from its bytes."""
    return continued_crc(memoryview(batch)[CRC_START:], 0)


def continued_crc(part: Buffer, before: int) -> int:
    """The CRC-32C of earlier bytes and `part` together. before: the CRC of the earlier bytes; 0 for
    none."""
    return int(crc32c(part, before))


def with_records(header: BatchHeader, records: bytes) -> bytes:
    """A whole batch: the header with computed length and CRC, and `records`, which are encoded
    already and compressed by the header's codec."""
    length = MIN_BATCH_LENGTH + len(records)
    batch = bytearray(encode_header(header._replace(batch_length=length, crc=0)))
    batch += records
    struct.pack_into(">I", batch, CRC_START - 4, computed_crc(batch))
    return bytes(batch)
