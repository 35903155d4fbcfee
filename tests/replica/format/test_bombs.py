"""Files of a few KB that would decompress to gigabytes cost little, and are reported."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import islice

import pytest

from replica.errors import CorruptDataError, DataError, UnsupportedDataError
from replica.format import compression, record
from replica.format.batch import HEADER, decode_header
from replica.format.compression import CODEC_NAMES, GZIP, LZ4, ZSTD, Inflation, compress
from replica.format.control import ControlType, control_key, decode_control
from replica.format.record import Record, RecordHeader, encode_records, records_of
from replica.message.primitives import write_unsigned_varint, write_varint
from replica.message.reader import MAX_ELEMENTS
from replica.metadata.codec import decode
from replica.metadata.log_record import UNREADABLE, LogRecordReader
from tests.replica.format.encoded import encode_batch
from tests.traced_memory import peak_of

_MIB = 1024 * 1024
_CODECS = pytest.mark.parametrize("codec", [GZIP, LZ4, ZSTD], ids=CODEC_NAMES.__getitem__)


def _varint(number: int) -> bytes:
    out = bytearray()
    write_unsigned_varint(out, number)
    return bytes(out)


def _batch(records: bytes, count: int, codec: int = 0) -> bytes:
    return encode_batch(
        base_offset=0,
        leader_epoch=1,
        records=compress(codec, records),
        record_count=count,
        last_offset_delta=count - 1,
        base_timestamp=0,
        max_timestamp=0,
        attributes=codec,
    )


def _of_one(value: bytes, codec: int = 0) -> bytes:
    return _batch(encode_records([Record(0, 0, None, value)], 0, 0), 1, codec)


@_CODECS
def test_a_batch_that_inflates_a_thousand_times_is_refused_at_little_cost(codec: int) -> None:
    batch = _of_one(bytes(40 * _MIB), codec)

    def read() -> None:
        with pytest.raises(CorruptDataError, match="inflates past"):
            list(records_of(decode_header(batch), batch))

    assert peak_of(read) < 30 * _MIB


@_CODECS
def test_the_largest_batch_of_a_metadata_log_inflates_whatever_it_is_compressed_to(
    codec: int,
) -> None:
    batch = _of_one(bytes(8 * _MIB - 30), codec)
    (found,) = records_of(decode_header(batch), batch)
    assert found.value == bytes(8 * _MIB - 30)


def test_many_bombs_of_one_file_inflate_to_no_more_than_the_file_may() -> None:
    bomb = _of_one(bytes(40 * _MIB), ZSTD)
    inflation = Inflation(40 * len(bomb))
    tried = []
    for _ in range(40):
        before = inflation.left
        with pytest.raises(DataError):
            list(records_of(decode_header(bomb), bomb, inflation))
        tried.append(before - inflation.left)
    assert sum(tried) == compression.FILE_ALWAYS_INFLATED_BYTES
    assert tried[-1] == 0


def test_a_file_s_sound_batches_are_all_inflated() -> None:
    values = [bytes([n % 251]) * 40 for n in range(1000)]
    records = [Record(n, n, None, value) for n, value in enumerate(values)]
    batch = _batch(encode_records(records, 0, 0), len(records), ZSTD)
    count = 3 * compression.FILE_ALWAYS_INFLATED_BYTES // 48_000
    inflation = Inflation(count * len(batch))
    inflated = sum(len(inflation.decompress(ZSTD, batch[HEADER.size :])) for _ in range(count))
    assert inflated > 2 * compression.FILE_ALWAYS_INFLATED_BYTES


def _unknown_tags() -> bytes:
    """NO_OP_RECORD with a million tagged fields of tag 9 and size 0."""
    return b"\x01\x14\x00" + _varint(1_000_000) + b"\x09\x00" * 1_000_000


def _replicas() -> bytes:
    head = b"\x01\x03\x00" + bytes(4) + bytes(15) + b"\1"
    return head + _varint(1_000_001) + b"\0\0\0\7" * 1_000_000 + _varint(1) * 3 + bytes(13)


def _quota_entities() -> bytes:
    head = b"\x01\x0e\x00" + _varint(1_000_001)
    return head + b"\x01\x00\x00" * 1_000_000 + b"\x02k" + bytes(10)


@pytest.mark.parametrize("value", [_unknown_tags, _replicas, _quota_entities])
def test_a_record_with_a_million_elements_is_unreadable(value: Callable[[], bytes]) -> None:
    raw = value()

    def read() -> None:
        with pytest.raises(UnsupportedDataError, match=f"more than {MAX_ELEMENTS} "):
            decode(raw)

    assert peak_of(read) < 10 * _MIB + len(raw)
    read_record = LogRecordReader(None).read(Record(0, 0, None, raw), is_control=False)
    assert read_record.record_type == UNREADABLE


def test_elements_are_counted_over_the_whole_record() -> None:
    def partition(replicas: int, isr: int) -> bytes:
        lists = (b"\0\0\0\7" * replicas, b"\0\0\0\7" * isr, b"", b"")
        body = b"".join(_varint(len(one) // 4 + 1) + one for one in lists)
        return b"\x01\x03\x00" + bytes(4) + bytes(15) + b"\1" + body + bytes(13)

    decode(partition(MAX_ELEMENTS - 10, 10))
    with pytest.raises(UnsupportedDataError, match=f"more than {MAX_ELEMENTS} "):
        decode(partition(MAX_ELEMENTS - 10, 11))


def test_a_control_record_of_many_megabytes_is_unreadable() -> None:
    value = struct.pack(">hh", 0, 1) + _varint(3_000_000) + b"\x09\x00" * 3_000_000

    def read() -> None:
        with pytest.raises(UnsupportedDataError, match="control record has"):
            decode_control(control_key(ControlType.KRAFT_VERSION), value)

    assert peak_of(read) < _MIB


def test_records_beyond_the_most_of_one_batch_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "MAX_BATCH_ELEMENTS", 1000)
    headers = (RecordHeader("h", None),)
    for each, most in (((), 1000), (headers, 500)):
        records = [Record(n, 0, None, None, each) for n in range(most + 1)]
        batch = _batch(encode_records(records, 0, 0), len(records), ZSTD)
        found = records_of(decode_header(batch), batch)
        assert list(islice(found, most)) == records[:most]
        with pytest.raises(UnsupportedDataError, match="more than 1000 records and headers"):
            next(found)


def test_a_record_with_millions_of_headers_is_refused_before_they_are_made() -> None:
    body = b"\x00\x00\x00\x01\x01" + _zigzag(3_000_000) + b"\x00\x01" * 3_000_000
    batch = _batch(_zigzag(len(body)) + body, 1, ZSTD)

    def read() -> None:
        with pytest.raises(UnsupportedDataError, match="records and headers"):
            list(records_of(decode_header(batch), batch))

    assert peak_of(read) < 40 * _MIB


def _zigzag(number: int) -> bytes:
    out = bytearray()
    write_varint(out, number)
    return bytes(out)


def test_a_batch_of_more_than_32_mib_is_not_read() -> None:
    batch = _of_one(bytes(33 * _MIB))
    with pytest.raises(UnsupportedDataError, match="more than 33554432 are not read"):
        list(records_of(decode_header(batch), batch))
