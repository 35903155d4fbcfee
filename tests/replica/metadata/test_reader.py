"""Decoding metadata records: total on any bytes, exact on every type and version."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import (
    CorruptDataError,
    DataError,
    TruncatedDataError,
    UnsupportedDataError,
)
from replica.message.program import Program
from replica.metadata.codec import decode, encode
from replica.metadata.json_text import json_text
from replica.metadata.programs import programs
from replica.metadata.record import MetadataRecord, UnknownRecord
from tests.replica.metadata.strategies import records
from tests.traced_memory import peak_of

TOPIC = b"\x01\x02\x00"
TOPIC_FOO = TOPIC + b"\x04foo" + bytes(16) + b"\x00"
QUOTA = b"\x01\x0e\x00"
CHANGE = b"\x01\x05\x02" + struct.pack(">i", 7) + bytes(16)
SCRAM = b"\x01\x0b\x00"


def decode_known(value: bytes) -> MetadataRecord:
    record = decode(value)
    assert isinstance(record, MetadataRecord)
    return record


def failure(value: bytes) -> DataError:
    with pytest.raises(DataError) as caught:
        decode(value)
    assert caught.value.position is not None
    assert 0 <= caught.value.position <= len(value)
    return caught.value


def stays_total(value: bytes) -> None:
    """The bytes decode to a record that encodes to the same bytes, or fail with a DataError."""
    try:
        record = decode(value)
    except DataError:
        failure(value)
        return
    assert encode(record) == value
    json_text(record)


@given(st.binary(max_size=300))
def test_any_bytes_decode_to_a_record_that_gives_them_back_or_fail_as_data_error(
    value: bytes,
) -> None:
    stays_total(value)


@given(st.sampled_from(programs()), st.binary(max_size=300))
def test_any_body_behind_a_good_envelope_decodes_or_fails_as_data_error(
    program: Program, body: bytes
) -> None:
    stays_total(bytes([1, program.schema.api_key, program.version]) + body)


@given(records(), st.data())
def test_a_mutated_record_decodes_or_fails_as_data_error(
    record: MetadataRecord, data: st.DataObject
) -> None:
    value = bytearray(encode(record))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(value) - 1))
        how = data.draw(st.sampled_from(["set", "insert", "delete", "cut"]))
        if how == "set":
            value[at] = data.draw(st.integers(0, 255))
        elif how == "insert":
            value[at:at] = data.draw(st.binary(min_size=1, max_size=6))
        elif how == "delete" and len(value) > 1:
            del value[at]
        elif how == "cut" and at:
            del value[at:]
    stays_total(bytes(value))


def test_every_proper_prefix_of_a_record_is_truncated(
    golden: tuple[tuple[bytes, str], ...],
) -> None:
    for value, _ in golden:
        if len(value) < 400:
            for end in range(len(value)):
                assert isinstance(failure(value[:end]), TruncatedDataError)


def test_fields_come_in_declared_order_with_defaults_for_absent_tags() -> None:
    record = decode_known(CHANGE + b"\x00")
    assert record.type == "PARTITION_CHANGE_RECORD"
    assert (record.api_key, record.version) == (5, 2)
    assert list(record.fields.items())[:4] == [
        ("partitionId", 7),
        ("topicId", "AAAAAAAAAAAAAAAAAAAAAA"),
        ("isr", None),
        ("leader", -2),
    ]
    assert list(record.fields)[-1] == "lastKnownElr"


def test_two_records_share_no_defaults() -> None:
    first = decode_known(CHANGE + b"\x01\x00\x05\x02\x00\x00\x00\x09")
    assert first.fields["isr"] == (9,)
    assert decode_known(CHANGE + b"\x00").fields["isr"] is None


def test_a_null_array_differs_from_an_empty_one() -> None:
    assert decode_known(CHANGE + b"\x01\x00\x01\x01").fields["isr"] == ()
    assert decode_known(CHANGE + b"\x01\x00\x01\x00").fields["isr"] is None


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_every_kind_of_buffer_is_read(kind: type) -> None:
    assert decode_known(kind(TOPIC_FOO)).fields["name"] == "foo"


@pytest.mark.parametrize(
    ("value", "error", "position", "reason"),
    [
        (b"", TruncatedDataError, 0, "frame version"),
        (b"\x00\x02\x00", UnsupportedDataError, 0, "frame version 0"),
        (b"\x02\x02\x00", UnsupportedDataError, 0, "frame version 2"),
        (b"\x01\x80\x80\x02\x00", CorruptDataError, 1, "api key 32768"),
        (b"\x01\x02\x80\x80\x02", CorruptDataError, 2, "record version 32768"),
        (b"\x01\xff\xff\xff\xff\xff\xff", CorruptDataError, 1, "api key"),
        (TOPIC_FOO + b"zz", CorruptDataError, len(TOPIC_FOO), "2 bytes follow the TOPIC_RECORD"),
        (TOPIC + b"\x00" + bytes(17), CorruptDataError, 3, "name is null"),
        (TOPIC + b"\x04f\xff\xfe" + bytes(17), CorruptDataError, 5, "name is not UTF-8"),
        (TOPIC + b"\x04foo" + bytes(15), TruncatedDataError, 7, "topicId needs 16 bytes"),
        (TOPIC + b"\xff\xff\xff\xff\x0f", TruncatedDataError, 8, "name needs 4294967294 bytes"),
        (SCRAM + b"\x02u\x01\x00", CorruptDataError, 6, "salt is null"),
        (QUOTA + b"\x00", CorruptDataError, 3, "entity is null"),
        (QUOTA + b"\xff\xff\xff\xff\x0f", TruncatedDataError, 3, "4294967294 elements"),
        (QUOTA + b"\x03\x00\x00\x00", TruncatedDataError, 3, "claims 2 elements"),
        (CHANGE + b"\xff\xff\xff\xff\x0f", TruncatedDataError, 23, "tagged fields are claimed"),
        (CHANGE + b"\x01\x00\x05", TruncatedDataError, 26, "tagged field 0 needs 5 bytes"),
        (CHANGE + b"\x01\x01\x05\0\0\0\0\0", CorruptDataError, 26, "leader does not fill"),
        (CHANGE + b"\x01\x01\x03\0\0\0\0\0", CorruptDataError, 26, "leader does not fill"),
    ],
)
def test_a_broken_value_names_what_is_wrong_and_where(
    value: bytes, error: type[DataError], position: int, reason: str
) -> None:
    caught = failure(value)
    assert type(caught) is error
    assert caught.position == position
    assert reason in caught.reason


def test_a_length_far_beyond_the_bytes_allocates_nothing() -> None:
    partition = b"\x01\x03\x02" + bytes(20) + b"\xff\xff\xff\xff\x07" + bytes(64)
    assert peak_of(lambda: failure(partition)) < 1 << 20


def test_long_arrays_are_read_whole() -> None:
    count = 1000
    ids = struct.pack(f">{count}i", *range(count))
    uuids = b"".join(bytes(14) + struct.pack(">H", i) for i in range(count))
    length = b"\xe9\x07"
    value = b"\x01\x03\x01" + bytes(20) + length + ids + b"\x01\x01\x01" + bytes(12)
    record = decode_known(value + length + uuids + b"\x00")
    assert record.fields["replicas"] == tuple(range(count))
    directories = record.fields["directories"]
    assert isinstance(directories, tuple)
    assert directories[999] == "AAAAAAAAAAAAAAAAAAAD5w"
    assert len(set(directories)) == count


@pytest.mark.parametrize(
    ("value", "type_name"),
    [(b"\x01\x06\x00body", "UNKNOWN_RECORD"), (b"\x01\x03\x63body", "PARTITION_RECORD")],
)
def test_an_unknown_type_or_version_is_kept_and_labelled(value: bytes, type_name: str) -> None:
    record = decode(value)
    assert record == UnknownRecord(value[1], value[2], b"body")
    assert record.type == type_name
    assert encode(record) == value


def test_unknown_tagged_fields_are_kept_with_the_place_of_their_structure() -> None:
    entity = b"\x02u\x00\x01\x63\x02ab"
    value = QUOTA + b"\x03" + b"\x02x\x00\x00" + entity + b"\x02k" + bytes(9) + b"\x01\x64\x01c"
    record = decode_known(value)
    assert record.unknown_tags == ((("entity", 1), ((99, b"ab"),)), ((), ((100, b"c"),)))
    assert record.fields["entity"] == (
        {"entityType": "x", "entityName": None},
        {"entityType": "u", "entityName": None},
    )
    assert record.original is None
    assert encode(record) == value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(CHANGE + b"\x01\x01\x04\xff\xff\xff\xfe", id="explicit default"),
        pytest.param(CHANGE + b"\x02\x05\x01\x00\x00\x01\x01", id="tags out of order"),
        pytest.param(CHANGE + b"\x02\x05\x01\x00\x05\x01\x01", id="a tag twice"),
        pytest.param(CHANGE + b"\x80\x00", id="padded count"),
        pytest.param(TOPIC + b"\x84\x80\x00foo" + bytes(17), id="padded length"),
        pytest.param(b"\x01\x82\x00\x00" + TOPIC_FOO[3:], id="padded api key"),
        pytest.param(b"\x01\x82\x80\x80\x80\x10\x00" + TOPIC_FOO[3:], id="surplus bits"),
        pytest.param(b"\x81\x00\x63\x00", id="padded envelope of an unknown type"),
        pytest.param(QUOTA + b"\x01\x02k" + bytes(8) + b"\x02\x00", id="a bool of 2"),
    ],
)
def test_a_form_kafka_reads_but_does_not_write_keeps_its_bytes(value: bytes) -> None:
    record = decode(value)
    assert record.original == value
    assert encode(record) == value


def test_the_last_of_two_equal_tags_counts() -> None:
    record = decode_known(CHANGE + b"\x02\x05\x01\x00\x05\x01\x01")
    assert record.fields["leaderRecoveryState"] == 1
