"""Rewrites the bytes of a segment or a snapshot, without secrets.

An uncompressed batch without a secret stays byte for byte. A compressed batch keeps only its
records, because a codec's stream may hold other bytes. All other batches keep their offsets,
epochs, times and attributes, and get the CRC of their new bytes. Their sizes change, and so the
positions of all later batches: the length of a secret isn't visible. A damaged batch stays damaged
in the same way: its content is overwritten, and a plausible header stays without the CRC.

At most one batch, of at most 32 MiB, is in memory.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from replica.doctor.redacted.record_redactor import FILL, RecordRedactor
from replica.errors import DataError, UnsupportedDataError
from replica.format import batch
from replica.format.byte_source import BLOCK_BYTES, ByteSource, ShrankError, Source, byte_source
from replica.format.compression import MAX_RECORDS_BYTES, NONE, Inflation, compress
from replica.format.record import Record, encode_records, records_of
from replica.format.walk import FrameWalk, LocatedBatch
from replica.message.primitives import Buffer

_SIZES_OF_DAMAGED = 64
"""The size of a damaged batch is rounded up to a multiple of this many bytes."""
_LENGTH_END, _MAGIC_AT = 12, 16
"""Positions in a batch. The bytes between them are the leader epoch; in a batch of an older magic
they are its CRC."""
_NO_HEADER = batch.BatchHeader(0, 0, -1, batch.MAGIC, 0, 0, 0, 0, 0, -1, -1, -1, 0)
_ZEROS = re.compile(rb"\0{64,}")
_ZERO_BLOCK = bytes(BLOCK_BYTES)


@dataclass(frozen=True, slots=True)
class Moved:
    """Maps positions of the old file to the new one."""

    old: array[int]
    """The positions in the old file, ascending, at which the distance to the new position
    changes."""
    new: array[int]
    """The corresponding positions in the new file."""

    def position(self, position: int) -> int:
        """The position in the new file. It is exact for the first byte of a batch."""
        place = bisect_right(self.old, position) - 1
        return position if place < 0 else self.new[place] + position - self.old[place]


def redact_log(data: Source, records: RecordRedactor, out: BinaryIO) -> Moved:
    """Write all bytes of one .log or .checkpoint file to `out`, which is empty and can seek: long
    runs of zeros become holes. Returns the new positions of the old bytes. A file that becomes
    shorter while it is read is read again. Raises OSError of `out`, and UnreadableFileError."""
    source = byte_source(data)
    while True:
        try:
            return _redacted(source, records, _Output(out))
        except ShrankError:
            out.seek(0)
            out.truncate()


def _redacted(source: ByteSource, records: RecordRedactor, out: _Output) -> Moved:
    walk = FrameWalk(source, 0)
    inflation = Inflation(source.size)
    at = 0
    for frame in walk.frames():
        _overwrite(source, at, frame.position, out)
        out.begin(frame.position)
        _write_batch(source, frame, records, inflation, out)
        at = frame.position + frame.header.size_bytes
    _overwrite(source, at, walk.position, out)
    out.begin(walk.position)
    out.hole(source.size - walk.position)
    out.close()
    return Moved(out.old, out.new)


@dataclass
class _Output:
    """The new file.

    size: the number of written bytes, including holes. A hole at the end is in the file only after
        `close`.
    old, new: see Moved.
    """

    file: BinaryIO
    size: int = 0
    old: array[int] = field(default_factory=lambda: array("q"))
    new: array[int] = field(default_factory=lambda: array("q"))
    _distance: int = 0

    def begin(self, old_position: int) -> None:
        """Note that the next bytes replace the bytes of the old file from this position on."""
        if self.size - old_position != self._distance:
            self._distance = self.size - old_position
            self.old.append(old_position)
            self.new.append(self.size)

    def write(self, part: Buffer) -> None:
        self.file.write(part)
        self.size += len(part)

    def hole(self, size: int) -> None:
        """Write `size` zeros, as a hole if the file can have holes."""
        self.file.seek(size, 1)
        self.size += size

    def close(self) -> None:
        if self.size:
            self.file.seek(self.size)
            self.file.truncate()
            self.file.seek(0, 2)
            # truncate extends a file, but not a BytesIO, so the missing zeros are written
            self.file.write(bytes(self.size - self.file.tell()))


def _write_batch(
    source: ByteSource,
    frame: LocatedBatch,
    redactor: RecordRedactor,
    inflation: Inflation,
    out: _Output,
) -> None:
    header = frame.header
    if not frame.crc_valid:
        _write_damaged(header, out)
    elif header.size_bytes - batch.HEADER.size > MAX_RECORDS_BYTES:
        _write_oversized(header, out)
    else:
        whole = source.read(frame.position, header.size_bytes)
        if batch.computed_crc(whole) == header.crc:
            out.write(_batch(header, whole, redactor, inflation))
        else:  # another process has written there since the walk checked the CRC
            _write_damaged(header, out)


def _batch(
    header: batch.BatchHeader, whole: Buffer, redactor: RecordRedactor, inflation: Inflation
) -> Buffer:
    """The redacted bytes of a batch with a valid CRC; the same bytes if nothing was replaced."""
    records: list[Record] = []
    is_changed = header.codec != NONE
    is_broken = False
    try:
        for record in records_of(header, whole, inflation):
            shown = redactor.redacted(record, is_control=header.is_control)
            is_changed = is_changed or shown is not record
            records.append(shown)
    except DataError:  # the rest of the batch is replaced by bytes that can't be decoded either
        is_broken = True
    if not is_broken and not is_changed:
        return whole
    body = encode_records(records, header.base_offset, header.base_timestamp)
    if is_broken:
        body += FILL * (1 + max(0, _claimed(header) - len(body)) // len(FILL))
    return batch.with_records(header, _compressed(header.codec, body))


def _claimed(header: batch.BatchHeader) -> int:
    """The smallest size in bytes of as many records as the header claims. Kafka could not have
    written a smaller batch."""
    return min(header.record_count * batch.MIN_RECORD_BYTES, header.size_bytes)


def _compressed(codec: int, body: bytes) -> bytes:
    try:
        return compress(codec, body)
    except DataError:  # a codec that Kafka doesn't know: the records can't be read
        return FILL


def _write_oversized(header: batch.BatchHeader, out: _Output) -> None:
    """Write a batch instead of a batch that is too large to be read. The records of the new batch
    can't be decoded."""
    room = max(0, _claimed(header) - len(FILL))
    length = header.batch_length - header.size_bytes + batch.HEADER.size + len(FILL) + room
    header = header._replace(batch_length=length, crc=0)
    crc = _with_zeros(batch.computed_crc(batch.encode_header(header) + FILL), room)
    out.write(batch.encode_header(header._replace(crc=crc)) + FILL)
    out.hole(room)


def _write_damaged(header: batch.BatchHeader, out: _Output) -> None:
    """Write a batch with this header and other bytes, which don't have its CRC."""
    surplus = -header.size_bytes % _SIZES_OF_DAMAGED
    header = header._replace(batch_length=header.batch_length + surplus, crc=0)
    room = header.size_bytes - batch.HEADER.size
    if _with_zeros(batch.computed_crc(batch.encode_header(header)), room) == 0:
        header = header._replace(crc=1)
    out.write(batch.encode_header(header))
    out.hole(room)


def _with_zeros(crc: int, count: int) -> int:
    """The CRC-32C of bytes with the CRC `crc`, and `count` zeros behind them."""
    while count:
        block = memoryview(_ZERO_BLOCK)[:count]
        crc = batch.continued_crc(block, crc)
        count -= len(block)
    return crc


def _overwrite(source: ByteSource, begin: int, end: int, out: _Output) -> None:
    """Write the bytes from `begin` to `end` so that their number stays and their content is hidden.

    If they begin with bytes that readers treat as a batch's header, the header stays (_frame_of).
    Long runs of zeros, which a crash leaves, stay too.
    """
    out.begin(begin)
    if not any(bytes(part).strip(b"\0") for part in _parts(source, begin, end)):
        out.hole(end - begin)
        return
    kept = _frame_of(source.read(begin, min(batch.HEADER.size, source.size - begin)))
    for part in _parts(source, begin, end):
        content = bytearray(b"\xff" * len(part))
        for zeros in _ZEROS.finditer(part):
            content[zeros.start() : zeros.end()] = bytes(zeros.end() - zeros.start())
        content[: len(kept)] = kept[: len(content)]
        kept = b""
        out.write(content)


def _parts(source: ByteSource, begin: int, end: int) -> Iterator[Buffer]:
    for position in range(begin, end, BLOCK_BYTES):
        yield source.read(position, min(BLOCK_BYTES, end - position))


def _frame_of(rest: Buffer) -> bytes:
    """The bytes of a header that stay: everything except the CRC. In a batch of another magic,
    nothing behind the magic stays. In a header that Kafka could not have written, only the numbers
    of its frame stay. Empty if the bytes can't be decoded as a header."""
    try:
        header = batch.decode_header(rest)
    except UnsupportedDataError:
        return bytes(rest[:_LENGTH_END]) + b"\xff" * 4 + bytes(rest[_MAGIC_AT : _MAGIC_AT + 1])
    except DataError:
        return b""
    if not batch.is_plausible(header):
        header = _NO_HEADER._replace(
            base_offset=header.base_offset,
            batch_length=header.batch_length,
            last_offset_delta=header.last_offset_delta,
        )
    return batch.encode_header(header._replace(crc=0))
