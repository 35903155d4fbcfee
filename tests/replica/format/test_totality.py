"""Every decoder is total: a value or a DataError that names a byte of the buffer, never more."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.errors import DataError
from replica.format import (
    index,
    leader_epoch_checkpoint,
    meta_properties,
    partition_metadata,
    producer_snapshot,
    quorum_state,
)
from replica.format.batch import decode_header
from replica.format.control import decode_control, encode_control
from replica.format.file_names import classify
from replica.format.record import records_of
from replica.format.snapshot import format_name, parse_name
from replica.message.primitives import read_unsigned_varint, read_varint, read_varlong
from tests.examples import examples
from tests.replica.format.encoded import encode_batch
from tests.traced_memory import peak_of

TESTS = Path(__file__).parents[2]
LEADER_CHANGE_V1 = bytes.fromhex(
    "0001 00000003 03 00000002 bd5580c1eaa4461aa4b02f5d938d89f1 00"
    "00000003 61a6f25c83644bb585a1cffd3f34a0d3 01 09 02 0506 01 01 c801 01 ff"
)
VOTERS_V0 = bytes.fromhex(
    "0000 02 00000001 bd5580c1eaa4461aa4b02f5d938d89f1 02 0b 434f4e54524f4c4c4552 06 68c3b67374"
    "ffff 00 0000 0001 01 02 00 01 01 01 07 00"
)


def control(code: int) -> Callable[[bytes], object]:
    return lambda data: decode_control(struct.pack(">hh", 0, code), data)


def records(data: bytes) -> object:
    return list(records_of(decode_header(data), data))


def recorded(pattern: str) -> bytes:
    return max((TESTS / "data").rglob(pattern), key=lambda path: path.stat().st_size).read_bytes()


DECODERS: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "batch header": (decode_header, (TESTS / "golden/format/batch-none.bin").read_bytes()[:61]),
    "records": (records, (TESTS / "golden/format/batch-append-time.bin").read_bytes()),
    "leader change": (control(2), LEADER_CHANGE_V1),
    "snapshot header": (control(3), bytes.fromhex("0000 0000018bcfe56800 01 03 01 ff")),
    "snapshot footer": (control(4), bytes.fromhex("0000 01 03 01 ff")),
    "kraft.version": (control(5), bytes.fromhex("0000 0001 00")),
    "voters": (control(6), VOTERS_V0),
    "offset index": (index.decode_offset_index, recorded("*.index")),
    "time index": (index.decode_time_index, recorded("*.timeindex")),
    "leader epochs": (leader_epoch_checkpoint.decode, recorded("leader-epoch-checkpoint")),
    "meta.properties": (meta_properties.decode, recorded("meta.properties")),
    "partition.metadata": (partition_metadata.decode, recorded("partition.metadata")),
    "producer snapshot": (producer_snapshot.decode, recorded("*.snapshot")),
    "quorum-state": (quorum_state.decode, recorded("quorum-state")),
    "varint": (lambda data: read_varint(data, 0), b"\xac\x02"),
    "varlong": (lambda data: read_varlong(data, 0), b"\xac\xff\x02"),
    "unsigned varint": (lambda data: read_unsigned_varint(data, 0), b"\xff\xff\xff\xff\x0f"),
}


def assert_total(decode: Callable[[bytes], object], data: bytes) -> None:
    position: int | None = 0
    try:
        decode(data)
    except DataError as error:
        position = error.position
        assert "\n" not in error.reason  # noqa: PT017
    assert position is not None
    assert 0 <= position <= len(data)


@pytest.mark.parametrize("name", DECODERS)
def test_the_sound_bytes_of_these_tests_decode(name: str) -> None:
    decode, sound = DECODERS[name]
    decode(sound)
    assert sound


@pytest.mark.parametrize("name", DECODERS)
@given(data=st.binary(max_size=200))
@settings(max_examples=examples(60), deadline=None)
def test_any_bytes_are_a_value_or_a_data_error(name: str, data: bytes) -> None:
    assert_total(DECODERS[name][0], data)


@pytest.mark.parametrize("name", DECODERS)
@given(
    edits=st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=5)), max_size=3),
    cut=st.integers(0, 10**6),
    cuts=st.booleans(),
)
@settings(max_examples=examples(100), deadline=None)
def test_mutated_sound_bytes_are_a_value_or_a_data_error(
    name: str, edits: list[tuple[int, bytes]], cut: int, cuts: bool
) -> None:
    decode, sound = DECODERS[name]
    data = bytearray(sound)
    for place, new in edits:
        at = place % (len(data) + 1)
        data[at : at + len(new)] = new
    assert_total(decode, bytes(data[: cut % (len(data) + 1)] if cuts else data))


@given(key=st.none() | st.binary(max_size=6), value=st.none() | st.binary(max_size=60))
@settings(max_examples=examples(300), deadline=None)
def test_a_control_record_that_decodes_encodes_to_what_decodes_the_same(
    key: bytes | None, value: bytes | None
) -> None:
    try:
        message = decode_control(key, value)
    except DataError:
        return
    assert decode_control(*encode_control(message)) == message


def body_of(count: int, body: bytes) -> bytes:
    return encode_batch(
        base_offset=0,
        leader_epoch=0,
        records=body,
        record_count=count,
        last_offset_delta=2**31 - 1,
        base_timestamp=0,
        max_timestamp=0,
    )


HUGE = "ffffffff0f"
HUGE_SIGNED = "feffffff0f"
CLAIMS: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "records": (records, body_of(2**31 - 1, bytes.fromhex("0c000000010000"))),
    "negative records": (records, body_of(-1, b"")),
    "record length": (records, body_of(1, bytes.fromhex(HUGE_SIGNED))),
    "key length": (records, body_of(1, bytes.fromhex("10000000" + HUGE_SIGNED))),
    "headers": (records, body_of(1, bytes.fromhex("1400000001 01" + HUGE_SIGNED))),
    "voters": (control(2), bytes.fromhex("0000 00000001" + HUGE + "00")),
    "endpoints": (
        control(6),
        bytes.fromhex("0000 02 00000001" + 16 * "00" + HUGE + "00"),
    ),
    "tagged fields": (control(4), bytes.fromhex("0000" + HUGE)),
    "tagged field size": (control(4), bytes.fromhex("0000 01 00" + HUGE)),
    "producers": (producer_snapshot.decode, b"\x00\x01" + bytes.fromhex("b31e8fa7 7fffffff")),
    "epochs": (leader_epoch_checkpoint.decode, b"0\n2147483647\n0 0\n"),
    "digits": (leader_epoch_checkpoint.decode, b"0\n" + b"9" * 5000 + b"\n"),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_count_far_beyond_the_bytes_is_refused_before_memory_is_allocated(name: str) -> None:
    decode, data = CLAIMS[name]

    def refused() -> None:
        with pytest.raises(DataError) as caught:
            decode(data)
        assert caught.value.position is not None
        assert 0 <= caught.value.position <= len(data)

    assert peak_of(refused) < 1_000_000


ODD_TEXTS: dict[str, bytes] = {
    "bom": b"\xef\xbb\xbf0\n0\n",
    "nul": b"0\n1\n\x00 \x00\n",
    "cr only": b"0\r1\r3 0\r",
    "no newline at all": b"0",
    "blank lines": b"\n\n\n",
    "arabic digits": "\u0660\n\u0660\n".encode(),
    "plus": b"+0\n+0\n",
    "underscore": b"0\n0_0\n",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "list": b"[]",
    "number": b"17",
    "nan": b'{"leaderEpoch":NaN,"data_version":1}',
    "huge integer": b'{"leaderEpoch":' + b"9" * 10_000 + b',"data_version":1}',
    "exponent": b'{"leaderEpoch":1e3,"data_version":1}',
    "boolean": b'{"leaderEpoch":true,"data_version":1}',
    "half a character": b'{"leaderEpoch":1,"data_version":1,"x":"\\ud800"}',
    "text before the fault": '{"é":"é", x}'.encode(),
    "two objects": b"{}{}",
    "backslashes": b"\\" * 50_000 + b"x",
    "half escape": b"version=1\ncluster.id=\\u12",
    "signed escape": b"version=1\ncluster.id=\\u+123",
    "lone surrogate": b"version=1\ncluster.id=\\ud800",
    "bad directory": b"version=1\ndirectory.id=nonsense\n",
}


@pytest.mark.parametrize("name", ODD_TEXTS)
@pytest.mark.parametrize(
    "decode",
    [
        leader_epoch_checkpoint.decode,
        quorum_state.decode,
        meta_properties.decode,
        partition_metadata.decode,
    ],
    ids=["leader epochs", "quorum-state", "meta.properties", "partition.metadata"],
)
def test_odd_text_is_refused_with_its_byte(decode: Callable[[bytes], Any], name: str) -> None:
    with pytest.raises(DataError) as caught:
        decode(ODD_TEXTS[name])
    assert caught.value.position is not None
    assert 0 <= caught.value.position <= len(ODD_TEXTS[name])


@given(name=st.text(alphabet="0123456789-.٣logpartcheckindxmsd", max_size=60))
@settings(max_examples=examples(300), deadline=None)
def test_any_file_name_has_a_kind(name: str) -> None:
    kind = classify(name)
    if kind.snapshot is not None:
        assert format_name(kind.snapshot) == name


@given(
    offset=st.integers(0, 2**63 - 1),
    epoch=st.integers(0, 2**31 - 1),
    draft=st.booleans(),
    suffix=st.sampled_from(["", ".part", ".deleted"]),
    unique=st.integers(0, 2**63 - 1),
)
@settings(max_examples=examples(200), deadline=None)
def test_snapshot_names_of_every_form_format_to_themselves(
    offset: int, epoch: int, draft: bool, suffix: str, unique: int
) -> None:
    digits = 20 if draft else 10
    random = f"-{unique}" if suffix == ".part" else ""
    name = f"{offset:020d}-{epoch:0{digits}d}{random}.checkpoint{suffix}"
    parsed = parse_name(name)
    assert parsed is not None
    assert (parsed.id.offset, parsed.id.epoch, parsed.epoch_digits) == (offset, epoch, digits)
    assert format_name(parsed) == name
