"""Damage of which the right findings are known, and buffers that are made to be slow."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

import pytest

from replica.format.damage import DamageKind
from replica.format.record import Record, encode_records
from replica.format.segment import scan
from tests.replica.format.encoded import encode_batch

LENGTH, MAGIC, LAST_OFFSET_DELTA, VALUE = 11, 16, 23, 75
MIB = 1024 * 1024


def batch_of(base_offset: int, value: bytes = b"x" * 59, count: int = 1) -> bytes:
    records = [Record(base_offset + i, 5000, None, value) for i in range(count)]
    return encode_batch(
        base_offset=base_offset,
        leader_epoch=1,
        records=encode_records(records, base_offset, 5000),
        record_count=count,
        last_offset_delta=count - 1,
        base_timestamp=5000,
        max_timestamp=5000,
    )


def flipped(batch: bytes, at: int, mask: int) -> bytes:
    return batch[:at] + bytes([batch[at] ^ mask]) + batch[at + 1 :]


def verdict(
    batches: Sequence[bytes], expected: int | None = 0
) -> tuple[list[tuple[int, bool]], list[tuple[DamageKind, int, int]]]:
    found = scan(b"".join(batches), expected_offset=expected)
    return (
        [(b.header.base_offset, b.crc_valid) for b in found.batches],
        [(d.kind, d.position, d.length) for d in found.damages],
    )


B = [batch_of(offset) for offset in range(6)]
SIZE = len(B[0])


def test_the_batches_of_these_tests_are_128_bytes_long() -> None:
    # so that one flipped bit in a length reaches exactly over the next batch
    assert SIZE == 128


def test_a_flip_in_a_value_is_a_crc_mismatch_and_the_batch_stays_listed() -> None:
    assert verdict([B[0], flipped(B[1], VALUE, 1), B[2]]) == (
        [(0, True), (1, False), (2, True)],
        [(DamageKind.CRC_MISMATCH, SIZE, SIZE)],
    )


def test_a_wrong_length_does_not_swallow_the_sound_batch_behind_it() -> None:
    assert verdict([B[0], flipped(B[1], LENGTH, 0x80), B[2], B[3]]) == (
        [(0, True), (2, True), (3, True)],
        [(DamageKind.FRAMING, SIZE, SIZE), (DamageKind.OFFSET_GAP, 2 * SIZE, 0)],
    )


def test_a_wrong_last_offset_does_not_push_out_the_batches_behind_it() -> None:
    for mask in (0x01, 0x40):
        damaged = flipped(B[1], LAST_OFFSET_DELTA, mask)
        assert verdict([B[0], damaged, B[2], B[3]]) == (
            [(0, True), (2, True), (3, True)],
            [(DamageKind.CRC_MISMATCH, SIZE, SIZE), (DamageKind.OFFSET_GAP, 2 * SIZE, 0)],
        )


def test_a_wrong_last_offset_of_the_last_batch_does_not_move_the_log_end() -> None:
    data = b"".join([B[0], flipped(B[1], LAST_OFFSET_DELTA, 0x01)])
    assert scan(data, expected_offset=0).next_offset == 1


@pytest.mark.parametrize(("at", "mask"), [(0, 0x40), (7, 0x08), (7, 0x01), (6, 0x01)])
@pytest.mark.parametrize("expected", [0, None])
def test_a_wrong_base_offset_costs_its_batch_only(at: int, mask: int, expected: int | None) -> None:
    damaged = flipped(B[2], at, mask)
    assert verdict([B[0], B[1], damaged, B[3], B[4]], expected) == (
        [(0, True), (1, True), (3, True), (4, True)],
        [(DamageKind.OFFSET_MISMATCH, 2 * SIZE, SIZE)],
    )


def test_a_wrong_base_offset_before_a_lost_batch_costs_no_other() -> None:
    lost = flipped(B[2], MAGIC, 0xFF)
    offsets, damages = verdict([B[0], flipped(B[1], 0, 0x40), lost, B[3], B[4]])
    assert offsets == [(0, True), (3, True), (4, True)]
    assert damages == [
        (DamageKind.OFFSET_MISMATCH, SIZE, SIZE),
        (DamageKind.UNSUPPORTED_MAGIC, 2 * SIZE, SIZE),
        (DamageKind.OFFSET_GAP, 3 * SIZE, 0),
    ]


def test_a_wrong_first_base_offset_is_found_without_an_expected_one() -> None:
    assert verdict([flipped(B[0], 0, 0x40), B[1], B[2]], None) == (
        [(1, True), (2, True)],
        [(DamageKind.OFFSET_MISMATCH, 0, SIZE)],
    )


def test_a_negative_base_offset_is_a_framing_damage() -> None:
    offsets, damages = verdict([B[0], flipped(B[1], 0, 0x80), B[2]])
    assert offsets == [(0, True), (2, True)]
    assert damages[0] == (DamageKind.FRAMING, SIZE, SIZE)


def test_two_gaps_one_after_another_are_two_gaps() -> None:
    assert verdict([B[0], B[2], B[4]]) == (
        [(0, True), (2, True), (4, True)],
        [(DamageKind.OFFSET_GAP, SIZE, 0), (DamageKind.OFFSET_GAP, 2 * SIZE, 0)],
    )


def test_a_batch_inside_a_sound_record_is_no_batch_of_the_log() -> None:
    outer = batch_of(1, value=B[5])
    assert verdict([B[0], outer, B[2]]) == ([(0, True), (1, True), (2, True)], [])


def test_old_magic_is_told_apart_from_garbage() -> None:
    old = struct.pack(">qiibI", 1, 60, 0, 1, 7) + bytes(51)
    assert verdict([B[0], old, B[2]])[1][0] == (DamageKind.UNSUPPORTED_MAGIC, SIZE, len(old))
    garbage = b"\x7f" * 100
    assert verdict([B[0], garbage, B[1]])[1] == [(DamageKind.FRAMING, SIZE, 100)]


def test_a_header_that_a_crash_cut_off_within_zeros_is_a_torn_tail() -> None:
    for written in (8, 12, 17, 40):
        data = b"".join([B[0], B[1], B[2][:written], bytes(500)])
        (damage,) = scan(data, expected_offset=0).damages
        assert damage.position == 2 * SIZE
        assert damage.kind in (DamageKind.TORN_TAIL, DamageKind.CRC_MISMATCH)
        assert (damage.kind is DamageKind.TORN_TAIL) is (written < 17)


def test_a_last_batch_with_a_wrong_length_is_no_torn_tail() -> None:
    _, damages = verdict([B[0], B[1], flipped(B[2], LENGTH, 0x04)])
    assert damages == [(DamageKind.FRAMING, 2 * SIZE, SIZE)]


def seconds(data: bytes) -> float:
    begin = time.process_time()
    found = scan(data, expected_offset=0)
    taken = time.process_time() - begin
    covered = {(b.position, b.header.size_bytes) for b in found.batches}
    covered |= {(d.position, d.length) for d in found.damages}
    assert sum(size for _, size in covered) + found.zero_tail == len(data)
    return taken


def fake_header(length: int, size: int = 61) -> bytes:
    return struct.pack(">qiibIhiqqqhii", 0, length, 1, 2, 7, 0, 0, 0, 0, 0, 0, 0, 1)[:size]


HOSTILE = {
    "zeros": bytes(50 * MIB),
    "twos": b"\x02" * (8 * MIB),
    "twos of a length that fits": b"\x02" * (40 * MIB),
    "zeros and twos": b"\x00\x02" * MIB,
    "fake headers with big lengths": fake_header(MIB) * (2 * MIB // 61),
    "fake headers with small lengths": fake_header(70) * (2 * MIB // 61),
    "overlapping fake headers": fake_header(200)[8:17] * (2 * MIB // 9),
    "fake headers behind sound batches": b"".join(
        batch_of(offset, b"") + fake_header(MIB) for offset in range(12000)
    ),
    "broken batches one after another": flipped(B[0], VALUE, 1) * (2 * MIB // SIZE),
    "holes between sound batches": b"".join(
        batch_of(offset, b"") + bytes(70) for offset in range(12000)
    ),
    "a sound batch behind every torn one": b"".join(
        fake_header(2**31 - 1) + batch_of(offset, b"") for offset in range(12000)
    ),
    "random bytes": bytes(range(256)) * (8 * MIB // 256),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_buffer_makes_the_scan_slow(name: str) -> None:
    # linear work takes 0.01 to 2 s here; work that grows with the square takes minutes
    assert seconds(HOSTILE[name]) < 8


def test_holes_between_sound_batches_hide_none_of_them() -> None:
    found = scan(HOSTILE["holes between sound batches"], expected_offset=0)
    assert len(found.batches) == 12000
    assert {damage.kind for damage in found.damages} == {DamageKind.ZERO_HOLE}


def test_headers_that_lie_between_sound_batches_hide_none_of_them() -> None:
    found = scan(HOSTILE["fake headers behind sound batches"], expected_offset=0)
    assert len(found.batches) == 12000


def test_a_search_that_left_places_out_says_so() -> None:
    found = scan(fake_header(9 * MIB) * (10 * MIB // 61), expected_offset=0)
    assert found.damages[-1].kind is DamageKind.FRAMING
    assert found.damages[-1].detail.endswith(
        "too damaged to check every place where a batch could start"
    )


def test_a_sound_batch_behind_many_costly_false_headers_is_found() -> None:
    data = fake_header(9 * MIB) * (10 * MIB // 61) + batch_of(0) + batch_of(1)
    assert len(scan(data, expected_offset=0).batches) == 2


def test_a_misplaced_later_batch_does_not_hide_the_batches_behind_it() -> None:
    sound = [batch_of(offset) for offset in range(4000)]
    log = b"".join(sound)
    for size in (4096, 65536):
        for at in (0, 5 * SIZE, 5 * SIZE + 17):
            moved = log[:at] + log[-size:] + log[at + size :]
            offsets = {b.header.base_offset for b in scan(moved, expected_offset=0).batches}
            lost = set(range(4000)) - offsets
            assert len(lost) <= size // SIZE + 2, (size, at)


def test_a_true_gap_of_many_offsets_is_one() -> None:
    """No later batch has a lower offset, so the offsets in the gap are missing."""
    behind = [batch_of(offset) for offset in range(90_000, 90_020)]
    assert verdict([B[0], *behind]) == (
        [(0, True), *((offset, True) for offset in range(90_000, 90_020))],
        [(DamageKind.OFFSET_GAP, SIZE, 0)],
    )


def test_leaps_one_after_another_do_not_make_the_scan_slow() -> None:
    up = [batch_of(offset * 1000, b"") for offset in range(8000)]
    zigzag = [batch_of((8000 - offset) * 1000 + offset % 2, b"") for offset in range(8000)]
    for parts in (up, zigzag, zigzag[:4000] + up[:4000], up[:4000] + zigzag[:4000]):
        assert seconds(b"".join(parts)) < 8
