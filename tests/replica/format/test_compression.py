"""The four codecs: equality after decoding, and hostile input that is refused cheaply."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.errors import CorruptDataError, DataError, UnsupportedDataError
from replica.format import compression
from replica.format.batch import decode_header
from replica.format.compression import GZIP, LZ4, SNAPPY, ZSTD, compress, decompress
from replica.format.record import records_of
from tests.examples import examples
from tests.traced_memory import peak_of

GOLDEN = Path(__file__).parents[2] / "golden" / "format"
CODECS = {"gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
MIB = 1024 * 1024
RAW_ZSTD = bytes.fromhex("28b52ffd 00 58 290000") + b"hello"
"""A frame without content size or checksum: one last raw block of 5 bytes (RFC 8878, 3.1.1)."""


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@given(data=st.binary(max_size=3000), repeat=st.integers(1, 60))
@settings(max_examples=examples(40), deadline=None)
def test_compressed_bytes_decompress_to_the_original(codec: int, data: bytes, repeat: int) -> None:
    assert decompress(codec, compress(codec, data * repeat)) == data * repeat


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_output_far_bigger_than_its_input_still_decompresses(codec: int) -> None:
    data = bytes(8 * MIB)
    assert decompress(codec, compress(codec, data)) == data


def test_a_zstd_frame_without_content_size_decompresses() -> None:
    assert decompress(ZSTD, RAW_ZSTD) == b"hello"


def test_snappy_without_xerials_framing_decompresses() -> None:
    # one literal: length varint 5, tag (5 - 1) << 2
    assert decompress(SNAPPY, b"\x05\x10hello") == b"hello"


def test_snappys_framing_is_that_of_xerial() -> None:
    framed = compress(SNAPPY, b"hello")
    assert framed[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    assert framed[16:20] == struct.pack(">i", len(framed) - 20)
    two_chunks = framed + framed[16:]
    assert decompress(SNAPPY, two_chunks) == b"hellohello"


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_a_bomb_stops_at_the_limit_with_bounded_memory(codec: int) -> None:
    limit = 4 * MIB
    bomb = compress(codec, bytes(64 * MIB))

    def refused() -> None:
        with pytest.raises(CorruptDataError, match=f"inflates past {limit} bytes"):
            decompress(codec, bomb, limit)

    assert peak_of(refused) < 3 * limit + len(bomb)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_the_limit_itself_may_be_reached(codec: int) -> None:
    data = bytes(range(256)) * 40
    assert decompress(codec, compress(codec, data), len(data)) == data
    with pytest.raises(CorruptDataError, match="inflates past"):
        decompress(codec, compress(codec, data), len(data) - 1)


@pytest.mark.parametrize("name", CODECS)
def test_a_stream_that_breaks_off_is_an_error(name: str) -> None:
    batch = (GOLDEN / f"batch-{name}.bin").read_bytes()
    header = decode_header(batch)
    for size in range(61, len(batch)):
        # xerial's stream has no end mark: at a chunk's end it is the records that are missing
        with pytest.raises(DataError, match=f"{name}|record length breaks off"):
            list(records_of(header, batch[:size]))


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("header", [b"", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\x1f\x8b\x08"])
def test_garbage_is_refused_without_allocating_up_to_the_limit(name: str, header: bytes) -> None:
    garbage = header + bytes(range(200, 256)) * 3

    def refused() -> None:
        with pytest.raises(CorruptDataError, match=name):
            decompress(CODECS[name], garbage)

    assert peak_of(refused) < MIB


def test_a_snappy_block_that_claims_too_much_is_refused_before_allocation() -> None:
    claim = b"\xff\xff\xff\x7f" + b"\x00a"
    with pytest.raises(CorruptDataError, match="can't inflate to"):
        decompress(SNAPPY, claim, 1 << 28)


def test_snappy_chunks_share_one_limit() -> None:
    chunk = bytes(cramjam.snappy.compress_raw(bytes(1000)))
    framed = compress(SNAPPY, b"") + 5 * (struct.pack(">i", len(chunk)) + chunk)
    assert decompress(SNAPPY, framed, 5000) == bytes(5000)
    with pytest.raises(CorruptDataError, match="inflates past"):
        decompress(SNAPPY, framed, 4999)


@pytest.mark.parametrize("size", [-1, 6, 2**31 - 1])
def test_a_snappy_chunk_that_does_not_fit_is_refused(size: int) -> None:
    framed = compress(SNAPPY, b"") + struct.pack(">i", size) + b"\x03\x08abc"
    with pytest.raises(CorruptDataError, match="does not fit"):
        decompress(SNAPPY, framed)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codec_numbers_that_kafka_has_not_given_out_are_unsupported(codec: int) -> None:
    with pytest.raises(UnsupportedDataError, match=f"compression type {codec}"):
        decompress(codec, b"abc")
    with pytest.raises(UnsupportedDataError, match=f"compression type {codec}"):
        compress(codec, b"abc")


def test_bytes_that_are_not_compressed_pass_through() -> None:
    assert decompress(0, memoryview(b"abc")) == b"abc"
    assert compress(0, b"abc") == b"abc"


def test_gzip_of_another_writer_decompresses() -> None:
    assert decompress(GZIP, gzip.compress(b"hello", mtime=0)) == b"hello"


@pytest.mark.parametrize("name", CODECS)
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
@settings(max_examples=examples(60), deadline=None)
def test_a_flipped_bit_in_a_compressed_batch_gives_data_errors_only(
    name: str, place: int, bit: int
) -> None:
    batch = bytearray((GOLDEN / f"batch-{name}.bin").read_bytes())
    header = decode_header(batch)
    batch[61 + place % (len(batch) - 61)] ^= 1 << bit
    position: int | None = 0
    try:
        for record in records_of(header, bytes(batch)):
            assert 1000 <= record.offset <= 1004
    except DataError as error:
        position = error.position
    assert position is not None
    assert position >= 0


@pytest.mark.parametrize("codec", [SNAPPY, LZ4, ZSTD])
def test_without_the_codecs_a_batch_in_one_is_refused_in_one_line_and_gzip_is_read(
    codec: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = compress(codec, b"hello")
    monkeypatch.setattr(compression, "cramjam", None)
    with pytest.raises(UnsupportedDataError, match=r"has no codec for it: .*pip install cramjam"):
        decompress(codec, packed)
    with pytest.raises(UnsupportedDataError, match="has no codec for it"):
        compress(codec, b"hello")
    assert decompress(GZIP, compress(GZIP, b"hello")) == b"hello"
