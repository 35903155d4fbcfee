"""The four codecs of a record batch (KIP-110 for zstd), with limits against decompression bombs.

KRaft writes uncompressed batches; logs of other partitions may have compressed ones. lz4 is the
frame format. snappy is the chunked stream of xerial's library, which Kafka's Java client writes.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TypeVar

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.message.primitives import Buffer

try:
    import cramjam
except ImportError:  # the one-file core has no compiled code
    cramjam = None  # type: ignore[assignment]

MAX_RECORDS_BYTES = 32 * 1024 * 1024
"""The most bytes of one batch's records after decompression. A batch of a metadata log has at most
8 MiB; for other partitions the default of message.max.bytes is 1 MiB."""
ALWAYS_INFLATED_BYTES = 8 * 1024 * 1024
MAX_RATIO = 100
"""A batch may inflate to this many times its compressed size (inclusive). Every batch may inflate
to ALWAYS_INFLATED_BYTES."""
FILE_ALWAYS_INFLATED_BYTES = 64 * 1024 * 1024
MAX_FILE_RATIO = 100
MAX_FILE_INFLATED_BYTES = 2**31
"""The most bytes to which the batches of a file may inflate together. The limit for a file is
MAX_FILE_RATIO times its size, at least FILE_ALWAYS_INFLATED_BYTES and at most this number."""

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODEC_NAMES = {NONE: "none", GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = struct.Struct(">8sii")
_XERIAL_CHUNK = struct.Struct(">i")
_XERIAL_BLOCK_BYTES = 32 * 1024
_GROWTH = 8
"""The output buffer starts at this many times the size of the input. While it is too small, it
grows by this factor, up to the limit."""
_TOO_SMALL = "failed to write whole buffer"
_SNAPPY_MAX_RATIO = 64


_Function = TypeVar("_Function")


class Inflation:
    """The number of bytes (`left`) to which the remaining batches of one file may inflate
    together."""

    def __init__(self, file_bytes: int) -> None:
        room = max(FILE_ALWAYS_INFLATED_BYTES, MAX_FILE_RATIO * file_bytes)
        self.left = min(room, MAX_FILE_INFLATED_BYTES)

    def decompress(self, codec: int, data: Buffer) -> bytes:
        """The records of a compressed batch, within the bytes that are left for the file. A refused
        batch counts with its whole limit.

        Raises the errors of the function `decompress`, and CorruptDataError if nothing is left for
        the file.
        """
        limit = min(inflated_limit(len(data)), self.left)
        if not limit:
            raise CorruptDataError(
                f"{CODEC_NAMES.get(codec, codec)}: the batches of this file inflate to more bytes "
                "than the batches of a file of its size do; the rest is not inflated"
            )
        self.left -= limit
        inflated = decompress(codec, data, limit)
        self.left += limit - len(inflated)
        return inflated


def inflated_limit(compressed_bytes: int) -> int:
    """The most bytes to which a batch's compressed records may inflate."""
    return min(MAX_RECORDS_BYTES, max(ALWAYS_INFLATED_BYTES, MAX_RATIO * compressed_bytes))


def decompress(codec: int, data: Buffer, limit: int | None = None) -> bytes:
    """The records of a compressed batch. limit: the most bytes of the result; None for
    inflated_limit.

    Raises CorruptDataError if the codec refuses the bytes or they inflate beyond `limit`,
    UnsupportedDataError for a codec that Kafka doesn't know or that isn't installed.
    """
    if codec == NONE:
        return bytes(data)
    most = inflated_limit(len(data)) if limit is None else limit
    return _chosen(_READERS, codec)(bytes(data), most)


def compress(codec: int, data: bytes) -> bytes:
    """The compressed bytes, in the framing of Kafka's clients. Raises UnsupportedDataError as
    decompress does."""
    if codec == NONE:
        return data
    return _chosen(_WRITERS, codec)(data)


def _chosen(functions: Mapping[int, _Function], codec: int) -> _Function:
    if codec not in functions:
        raise UnsupportedDataError(f"compression type {codec} is unknown")
    if codec != GZIP and cramjam is None:
        raise UnsupportedDataError(
            f"{CODEC_NAMES[codec]}: this installation has no codec for it: "
            "python3 -m pip install cramjam, or install kraftlake by its wheel"
        )
    return functions[codec]


def _gunzip(data: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj(wbits=31)
    try:
        out = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise CorruptDataError(f"gzip: {error}") from error
    if len(out) > limit:
        raise CorruptDataError(f"gzip: inflates past {limit} bytes")
    if not stream.eof:
        raise CorruptDataError("gzip: the stream breaks off")
    return out


def _into_growing_buffer(codec: ModuleType, name: str, data: bytes, limit: int) -> bytes:
    """Decompress into a buffer that grows until the output fits. codec: a module of cramjam. Raises
    CorruptDataError for damaged data, and for an output that exceeds `limit` bytes."""
    size = min(limit, max(1024, len(data) * _GROWTH))
    while True:
        out = bytearray(size)
        try:
            written = codec.decompress_into(data, out)
        except cramjam.DecompressionError as error:
            if _TOO_SMALL not in str(error):
                raise CorruptDataError(f"{name}: {error}") from error
            if size >= limit:
                raise CorruptDataError(f"{name}: inflates past {limit} bytes") from error
            size = min(limit, size * _GROWTH)
            continue
        return bytes(memoryview(out)[:written])


def _snappy_block(data: bytes, limit: int, used: int = 0) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(data)
        if used + size > limit:
            raise CorruptDataError(f"snappy: inflates past {limit} bytes")
        if size > _SNAPPY_MAX_RATIO * len(data):
            raise CorruptDataError(f"snappy: {len(data)} bytes can't inflate to {size}")
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise CorruptDataError(f"snappy: {error}") from error


def _unxerial(data: bytes, limit: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _snappy_block(data, limit)
    if len(data) < _XERIAL_HEADER.size:
        raise CorruptDataError("snappy: the stream's header breaks off")
    out = bytearray()
    position = _XERIAL_HEADER.size
    while position < len(data):
        if position + _XERIAL_CHUNK.size > len(data):
            raise CorruptDataError("snappy: a chunk length breaks off")
        (size,) = _XERIAL_CHUNK.unpack_from(data, position)
        position += _XERIAL_CHUNK.size
        if size < 0 or position + size > len(data):
            raise CorruptDataError(f"snappy: chunk of {size} bytes does not fit")
        out += _snappy_block(data[position : position + size], limit, len(out))
        position += size
    return bytes(out)


def _xerial_compress(data: bytes) -> bytes:
    out = bytearray(_XERIAL_HEADER.pack(_XERIAL_MAGIC, 1, 1))
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        out += _XERIAL_CHUNK.pack(len(block)) + block
    return bytes(out)


_READERS: dict[int, Callable[[bytes, int], bytes]] = {
    GZIP: _gunzip,
    SNAPPY: _unxerial,
    LZ4: lambda data, limit: _into_growing_buffer(cramjam.lz4, "lz4", data, limit),
    ZSTD: lambda data, limit: _into_growing_buffer(cramjam.zstd, "zstd", data, limit),
}
_WRITERS: dict[int, Callable[[bytes], bytes]] = {
    GZIP: lambda data: gzip.compress(data, 6, mtime=0),
    SNAPPY: _xerial_compress,
    LZ4: lambda data: bytes(cramjam.lz4.compress(data)),
    ZSTD: lambda data: bytes(cramjam.zstd.compress(data)),
}
