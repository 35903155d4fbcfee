"""Bytes written by Kafka's own Java code, or derived by hand from the layout.

The .bin files were made by tests/golden/format/Gold.java with kafka-clients 4.1.1.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.batch import computed_crc, decode_header
from replica.format.control import (
    ControlType,
    KRaftVersion,
    KRaftVoters,
    LeaderChange,
    LeaderVoter,
    SnapshotFooter,
    SnapshotHeader,
    UnknownControl,
    decode_control,
    encode_control,
    to_plain,
    type_name,
)
from replica.format.producer_snapshot import ProducerEntry
from replica.format.producer_snapshot import decode as decode_producers
from replica.format.producer_snapshot import encode as encode_producers
from replica.format.record import Record, RecordHeader, encode_records, records_of
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter
from tests.replica.format.encoded import encode_batch

GOLDEN = Path(__file__).parents[2] / "golden" / "format"
TWO, THREE = "vVWAweqkRhqksC9dk42J8Q", "YabyXINkS7WFoc_9PzSg0w"

# Kafka: MessageUtil.toByteBufferAccessor(LeaderChangeMessage, 1), with tags that it doesn't know
LEADER_CHANGE_V1 = bytes.fromhex(
    "0001 00000003"
    "03 00000002 bd5580c1eaa4461aa4b02f5d938d89f1 00"
    "   00000003 61a6f25c83644bb585a1cffd3f34a0d3 01 09 02 0506"
    "02 00000003 61a6f25c83644bb585a1cffd3f34a0d3 01 09 02 0506"
    "01 c801 01 ff"
)
# Kafka: the same of VotersRecord version 0
VOTERS_V0 = bytes.fromhex(
    "0000 02 00000001 bd5580c1eaa4461aa4b02f5d938d89f1"
    "02 0b 434f4e54524f4c4c4552 06 68c3b67374 ffff 00"
    "0000 0001 01 02 00"
    "01 01 01 07 00"
)

VALUES = [(f"value-{i}-" * (400 + i)).encode() for i in range(5)]
RECORDS = [
    Record(
        offset=1000 + i,
        timestamp=1700000000000 + 10 * i,
        key=None if i == 4 else f"key-{i}".encode(),
        value=None if i == 3 else VALUES[i],
        headers=(RecordHeader("trace", bytes([1, 2, i])), RecordHeader("néant", None))
        if i % 2 == 0
        else (),
    )
    for i in range(5)
]
"""What Gold.java appended to each batch."""


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_of_kafkas_java_client_decode(codec: str) -> None:
    batch = (GOLDEN / f"batch-{codec}.bin").read_bytes()
    header = decode_header(batch)
    assert header.size_bytes == len(batch)
    assert header.crc == computed_crc(batch)
    assert header.codec == ["none", "gzip", "snappy", "lz4", "zstd"].index(codec)
    assert (header.is_control, header.is_append_time) == (False, False)
    assert (header.base_offset, header.last_offset, header.next_offset) == (1000, 1004, 1005)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 11)
    assert (header.leader_epoch, header.record_count) == (42, 5)
    assert list(records_of(header, batch)) == RECORDS


def test_an_uncompressed_batch_of_the_java_client_encodes_to_its_bytes() -> None:
    again = encode_batch(
        base_offset=1000,
        leader_epoch=42,
        records=encode_records(RECORDS, 1000, 1700000000000),
        record_count=5,
        last_offset_delta=4,
        base_timestamp=1700000000000,
        max_timestamp=1700000000040,
        attributes=0x10,
        producer_id=7,
        producer_epoch=3,
        base_sequence=11,
    )
    assert again == (GOLDEN / "batch-none.bin").read_bytes()


def test_append_time_gives_every_record_the_time_of_the_batch() -> None:
    batch = (GOLDEN / "batch-append-time.bin").read_bytes()
    header = decode_header(batch)
    assert header.is_append_time
    records = list(records_of(header, batch))
    assert {record.timestamp for record in records} == {1700000009999}
    assert [record.value for record in records] == [record.value for record in RECORDS]


def test_leader_change_version_1_carries_directory_ids_and_keeps_unknown_tags() -> None:
    key = bytes.fromhex("0000 0002")
    two, three = LeaderVoter(2, TWO), LeaderVoter(3, THREE)
    tags = (
        (("voters", 1), ((9, b"\x05\x06"),)),
        (("grantingVoters", 0), ((9, b"\x05\x06"),)),
        ((), ((200, b"\xff"),)),
    )
    message = decode_control(key, LEADER_CHANGE_V1)
    assert message == LeaderChange(1, 3, (two, three), (three,), unknown_tags=tags)
    assert encode_control(message) == (key, LEADER_CHANGE_V1)
    assert to_plain(message) == {
        "version": 1,
        "leaderId": 3,
        "voters": [
            {"voterId": 2, "voterDirectoryId": TWO},
            {"voterId": 3, "voterDirectoryId": THREE},
        ],
        "grantingVoters": [{"voterId": 3, "voterDirectoryId": THREE}],
    }


def test_voters_keep_the_tags_of_each_level_apart() -> None:
    key = bytes.fromhex("0000 0006")
    message = decode_control(key, VOTERS_V0)
    endpoint = Endpoint("CONTROLLER", "höst", 65535)
    tags = (
        (("voters", 0, "kRaftVersionFeature"), ((2, b""),)),
        (("voters", 0), ((1, b"\x07"),)),
    )
    assert message == KRaftVoters(
        0, (Voter(ReplicaKey(1, TWO), (endpoint,), 0, 1),), unknown_tags=tags
    )
    assert encode_control(message) == (key, VOTERS_V0)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "0000 0002",
            "0000 00000002 02 00000001 00 01 00",
            LeaderChange(0, 2, (LeaderVoter(1),), ()),
        ),
        ("0000 0003", "0000 0000018bcfe56800 00", SnapshotHeader(0, 1700000000000)),
        ("0000 0004", "0000 00", SnapshotFooter(0)),
        ("0000 0004", "0000 01 05 00", SnapshotFooter(0, unknown_tags=(((), ((5, b""),)),))),
        ("0000 0005", "0000 0001 00", KRaftVersion(0, 1)),
        ("0000 0006", "0000 01 00", KRaftVoters(0, ())),
        ("0000 0001", "0000 0000000a", UnknownControl(1, -1, bytes.fromhex("00000000000a"))),
        ("0000 0063", "beef", UnknownControl(99, -1, b"\xbe\xef")),
        ("0000 0002", "0002 aa", UnknownControl(2, 2, b"\x00\x02\xaa")),
        ("0000 0004", "ffff 00", UnknownControl(4, -1, b"\xff\xff\x00")),
    ],
)
def test_control_records_decode_and_encode(key: str, value: str, message: object) -> None:
    raw = bytes.fromhex(key), bytes.fromhex(value)
    decoded = decode_control(*raw)
    assert decoded == message
    assert encode_control(decoded) == raw


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (KRaftVersion(0, 1), "KRAFT_VERSION"),
        (UnknownControl(ControlType.ABORT, -1, b""), "ABORT"),
        (UnknownControl(2, 9, b""), "LEADER_CHANGE"),
        (UnknownControl(99, -1, b""), "CONTROL_99"),
    ],
)
def test_control_types_are_named_known_or_not(
    message: KRaftVersion | UnknownControl, name: str
) -> None:
    assert type_name(message) == name


def test_bytes_behind_a_control_record_are_refused() -> None:
    with pytest.raises(CorruptDataError, match="2 bytes follow") as caught:
        decode_control(bytes.fromhex("00000004"), bytes.fromhex("0000 00 aabb"))
    assert caught.value.position == 3


def test_the_smallest_batch_has_the_bytes_made_by_hand() -> None:
    # its CRC was computed bit by bit with the polynomial 82f63b78
    # one record: length 6, attributes 0, deltas 0, key null, value empty, no headers
    record = bytes.fromhex("0c 00 00 00 01 00 00")
    batch = encode_batch(
        base_offset=5,
        leader_epoch=2,
        records=record,
        record_count=1,
        last_offset_delta=0,
        base_timestamp=9,
        max_timestamp=9,
    )
    assert (
        batch
        == bytes.fromhex(
            "0000000000000005 00000038 00000002 02 e54b96c8 0000 00000000"
            "0000000000000009 0000000000000009 ffffffffffffffff ffff ffffffff 00000001"
        )
        + record
    )
    (decoded,) = records_of(decode_header(batch), batch)
    assert decoded == Record(5, 9, None, b"")
    assert encode_records([decoded], 5, 9) == record


def test_a_producer_entry_has_46_bytes_in_kafkas_order() -> None:
    entry = ProducerEntry(7, 3, 11, 1004, 4, 1700000000040, -1, -1)
    data = encode_producers((entry,))
    assert data[6:] == bytes.fromhex(
        "00000001 0000000000000007 0003 0000000b 00000000000003ec 00000004"
        "0000018bcfe56828 ffffffff ffffffffffffffff"
    )
    assert decode_producers(data) == (entry,)
    with pytest.raises(CorruptDataError, match="CRC"):
        decode_producers(data[:-1] + b"\x00")
    with pytest.raises(UnsupportedDataError, match="version 2"):
        decode_producers(b"\x00\x02" + data[2:])


def test_a_batch_may_not_end_above_the_highest_offset() -> None:
    whole = encode_batch(
        base_offset=2**63 - 1,
        leader_epoch=1,
        records=b"",
        record_count=0,
        last_offset_delta=1,
        base_timestamp=0,
        max_timestamp=0,
    )
    with pytest.raises(CorruptDataError, match="above the highest offset"):
        decode_header(whole)


def test_a_control_record_of_an_odd_encoding_keeps_its_bytes() -> None:
    """Kafka reads tags out of order and a count of tags in two bytes, and so does kraftlake."""
    key = bytes.fromhex("0000 0004")
    for value in ("0000 02 05 00 03 01 ff", "0000 81 00 05 00"):
        message = decode_control(key, bytes.fromhex(value))
        assert isinstance(message, SnapshotFooter)
        assert message.unknown_tags
        assert encode_control(message) == (key, bytes.fromhex(value))
