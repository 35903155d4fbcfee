"""The batches and damages that `scan` finds in segments with random batches and random damage."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from replica.format.damage import DamageKind
from replica.format.record import Record, encode_records
from replica.format.segment import SegmentScan, scan
from replica.format.walk import LocatedBatch
from tests.examples import examples
from tests.replica.format.encoded import encode_batch

HEADER_BYTES = 61
PROPERTY = settings(max_examples=examples(250), deadline=None)


def batch_of(base_offset: int, count: int, size: int, epoch: int = 1) -> bytes:
    value = bytes((base_offset + index) % 251 + 1 for index in range(size))
    records = [Record(base_offset + i, 5000 + i, None, value) for i in range(count)]
    return encode_batch(
        base_offset=base_offset,
        leader_epoch=epoch,
        records=encode_records(records, base_offset, 5000),
        record_count=count,
        last_offset_delta=count - 1,
        base_timestamp=5000,
        max_timestamp=5000 + count - 1,
    )


def log_of(shapes: Sequence[tuple[int, int]], first: int = 0) -> list[bytes]:
    """Batches one after another from (record count, value size) each."""
    batches = []
    for count, size in shapes:
        batches.append(batch_of(first, count, size))
        first += count
    return batches


SHAPES = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 40)), min_size=1, max_size=12)


def pieces(found: SegmentScan) -> list[tuple[int, int]]:
    """(begin, end) of all batches and damages, each byte range once."""
    ranges = {(b.position, b.position + b.header.size_bytes) for b in found.batches}
    ranges |= {(d.position, d.position + d.length) for d in found.damages if d.length}
    return sorted(ranges)


def assert_tiles(found: SegmentScan, start: int, size: int) -> None:
    """Assert that every byte belongs to one batch, to one damage or to the zero tail."""
    at = start
    for begin, end in pieces(found):
        assert begin == at
        at = end
    assert at == found.end_position
    assert found.end_position + found.zero_tail == start + size
    positions = [damage.position for damage in found.damages]
    assert positions == sorted(positions)


def assert_in_order(batches: Sequence[LocatedBatch]) -> None:
    expected = 0
    for batch in batches:
        assert batch.header.base_offset >= expected
        expected = batch.header.next_offset


def bytes_of(data: bytes, found: SegmentScan) -> list[bytes]:
    return [data[b.position : b.position + b.header.size_bytes] for b in found.batches]


@given(shapes=SHAPES, start=st.integers(0, 10**9), tail=st.integers(0, 200))
@PROPERTY
def test_a_sound_segment_is_its_batches_and_a_zero_tail(
    shapes: list[tuple[int, int]], start: int, tail: int
) -> None:
    batches = log_of(shapes, first=70)
    data = b"".join(batches) + bytes(tail)
    found = scan(data, start=start, expected_offset=70)
    assert found.damages == ()
    assert found.zero_tail == tail
    assert [b.position - start for b in found.batches] == [
        sum(map(len, batches[:i])) for i in range(len(batches))
    ]
    assert all(b.crc_valid for b in found.batches)
    assert found.next_offset == 70 + sum(count for count, _ in shapes)
    assert_tiles(found, start, len(data))


@given(shapes=SHAPES, data=st.data())
@PROPERTY
def test_a_suffix_scans_as_it_does_within_the_whole(
    shapes: list[tuple[int, int]], data: st.DataObject
) -> None:
    batches = log_of(shapes)
    buffer = bytearray(b"".join(batches))
    split = data.draw(st.integers(0, len(batches) - 1))
    position = sum(map(len, batches[:split]))
    place = data.draw(st.integers(position, len(buffer) - 1))
    buffer[place] ^= 1 << data.draw(st.integers(0, 7))
    whole = scan(bytes(buffer), expected_offset=0)
    offset = sum(count for count, _ in shapes[:split])
    suffix = scan(bytes(buffer[position:]), start=position, expected_offset=offset)
    assert suffix.batches == tuple(b for b in whole.batches if b.position >= position)
    assert suffix.damages == tuple(d for d in whole.damages if d.position >= position)


@given(shapes=SHAPES, data=st.data(), known=st.booleans())
@PROPERTY
def test_one_flipped_bit_is_named_and_costs_no_other_batch(
    shapes: list[tuple[int, int]], data: st.DataObject, known: bool
) -> None:
    batches = log_of(shapes)
    hit = data.draw(st.integers(0, len(batches) - 1))
    inside = data.draw(st.integers(0, len(batches[hit]) - 1))
    begin = sum(map(len, batches[:hit]))
    buffer = bytearray(b"".join(batches))
    buffer[begin + inside] ^= 1 << data.draw(st.integers(0, 7))
    found = scan(bytes(buffer), expected_offset=0 if known else None)
    assert_tiles(found, 0, len(buffer))
    assert_in_order(found.batches)
    others = [b for i, b in enumerate(batches) if i != hit]
    kept = [raw for raw in bytes_of(bytes(buffer), found) if raw in batches]
    assert kept == others
    if 12 <= inside < 16:
        # a leader sets the epoch after the CRC was computed, so no CRC shows a wrong epoch
        assert found.damages == ()
    elif not known and inside < 8 and not found.damages:
        # nothing lies before the first batch, and nothing behind it contradicts it
        assert hit == 0
    else:
        assert any(
            d.position <= begin + inside < d.position + d.length
            or (d.length == 0 and d.position == begin)
            for d in found.damages
        )


@given(shapes=SHAPES, data=st.data())
@PROPERTY
def test_a_cut_segment_ends_in_a_torn_tail_unless_cut_between_batches(
    shapes: list[tuple[int, int]], data: st.DataObject
) -> None:
    batches = log_of(shapes)
    whole = b"".join(batches)
    ends = [sum(map(len, batches[:i])) for i in range(len(batches) + 1)]
    cut = data.draw(st.integers(0, len(whole)))
    found = scan(whole[:cut], expected_offset=0)
    last_end = max(end for end in ends if end <= cut)
    assert len(found.batches) == ends.index(last_end)
    assert_tiles(found, 0, cut)
    if not any(whole[last_end:cut]):
        assert (found.damages, found.zero_tail) == ((), cut - last_end)
    else:
        (damage,) = found.damages
        assert damage.kind is DamageKind.TORN_TAIL
        assert (damage.position, damage.length) == (last_end, cut - last_end)


@given(shapes=SHAPES, data=st.data(), garbage=st.binary(min_size=1, max_size=150))
@PROPERTY
def test_garbage_between_batches_is_one_damage_and_all_batches_are_found(
    shapes: list[tuple[int, int]], data: st.DataObject, garbage: bytes
) -> None:
    batches = log_of(shapes)
    at = data.draw(st.integers(0, len(batches) - 1))
    begin = sum(map(len, batches[:at]))
    buffer = b"".join(batches[:at]) + garbage + b"".join(batches[at:])
    found = scan(buffer, expected_offset=0)
    assert bytes_of(buffer, found) == batches
    assert_tiles(found, 0, len(buffer))
    (damage,) = found.damages
    assert (damage.position, damage.length) == (begin, len(garbage))
    assert (damage.kind is DamageKind.ZERO_HOLE) is (not any(garbage))


@given(shapes=SHAPES, data=st.data(), hole=st.integers(1, 300), tail=st.integers(0, 90))
@PROPERTY
def test_a_hole_of_zeros_costs_only_the_batches_that_it_covers(
    shapes: list[tuple[int, int]], data: st.DataObject, hole: int, tail: int
) -> None:
    batches = log_of(shapes)
    buffer = bytearray(b"".join(batches) + bytes(tail))
    at = data.draw(st.integers(0, len(buffer) - 1))
    end = min(at + hole, len(buffer))
    buffer[at:end] = bytes(end - at)
    found = scan(bytes(buffer), expected_offset=0)
    assert_tiles(found, 0, len(buffer))
    kept = bytes_of(bytes(buffer), found)
    begin = 0
    for batch in batches:
        raw = bytes(buffer[begin : begin + len(batch)])
        if raw == batch:
            assert raw in kept
        begin += len(batch)


@given(shapes=SHAPES, data=st.data())
@PROPERTY
def test_a_batch_written_twice_counts_once(
    shapes: list[tuple[int, int]], data: st.DataObject
) -> None:
    batches = log_of(shapes)
    twice = data.draw(st.integers(0, len(batches) - 1))
    buffer = b"".join(batches[: twice + 1] + batches[twice:])
    found = scan(buffer, expected_offset=0)
    assert bytes_of(buffer, found) == batches
    (damage,) = found.damages
    assert damage.kind is DamageKind.OFFSET_MISMATCH
    assert damage.position == sum(map(len, batches[: twice + 1]))
    assert damage.length == len(batches[twice])
    assert_tiles(found, 0, len(buffer))


@given(shapes=SHAPES, data=st.data())
@PROPERTY
def test_a_missing_batch_is_a_gap(shapes: list[tuple[int, int]], data: st.DataObject) -> None:
    batches = log_of([*shapes, (1, 1)])
    missing = data.draw(st.integers(0, len(batches) - 2))
    left = batches[:missing] + batches[missing + 1 :]
    buffer = b"".join(left)
    found = scan(buffer, expected_offset=0)
    assert bytes_of(buffer, found) == left
    (damage,) = found.damages
    assert (damage.kind, damage.length) == (DamageKind.OFFSET_GAP, 0)
    assert damage.position == sum(map(len, batches[:missing]))


@given(shapes=SHAPES, data=st.data())
@PROPERTY
def test_swapped_batches_cost_one_of_the_two_at_most(
    shapes: list[tuple[int, int]], data: st.DataObject
) -> None:
    batches = log_of([*shapes, (1, 1)])
    at = data.draw(st.integers(0, len(batches) - 2))
    swapped = [*batches]
    swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
    buffer = b"".join(swapped)
    found = scan(buffer, expected_offset=0)
    assert_tiles(found, 0, len(buffer))
    assert_in_order(found.batches)
    kept = bytes_of(buffer, found)
    assert set(batches[:at] + batches[at + 2 :]) <= set(kept)
    assert len(kept) >= len(batches) - 1
    assert found.damages


DAMAGE = st.one_of(
    st.tuples(st.just("flip"), st.integers(0, 10**6), st.integers(0, 7)),
    st.tuples(st.just("cut"), st.integers(0, 10**6), st.integers(1, 200)),
    st.tuples(st.just("insert"), st.integers(0, 10**6), st.binary(min_size=1, max_size=90)),
    st.tuples(st.just("zero"), st.integers(0, 10**6), st.integers(1, 200)),
    st.tuples(st.just("repeat"), st.integers(0, 10**6), st.integers(1, 200)),
)


def damaged(buffer: bytearray, kind: str, place: int, amount: int | bytes) -> None:
    if not buffer:
        return
    at = place % len(buffer)
    if kind == "flip":
        buffer[at] ^= 1 << int(amount)
    elif isinstance(amount, bytes):
        buffer[at:at] = amount
    elif kind == "cut":
        del buffer[at : at + amount]
    elif kind == "zero":
        end = min(len(buffer), at + amount)
        buffer[at:end] = bytes(end - at)
    else:
        buffer[at:at] = buffer[at : at + amount]


@given(
    shapes=SHAPES,
    damages=st.lists(DAMAGE, max_size=6),
    start=st.integers(0, 10**6),
    expected=st.sampled_from([None, 0, 3]),
)
@settings(max_examples=examples(600), deadline=None)
def test_every_byte_belongs_to_a_batch_a_damage_or_the_zero_tail_after_any_damage(
    shapes: list[tuple[int, int]],
    damages: list[tuple[str, int, int | bytes]],
    start: int,
    expected: int | None,
) -> None:
    buffer = bytearray(b"".join(log_of(shapes)))
    for damage in damages:
        damaged(buffer, *damage)
    data = bytes(buffer)
    found = scan(data, start=start, expected_offset=expected)
    assert_tiles(found, start, len(data))
    assert_in_order(found.batches)
    for batch in found.batches:
        at = batch.position - start
        assert int.from_bytes(data[at : at + 8], "big") == batch.header.base_offset


@given(data=st.binary(max_size=400), expected=st.sampled_from([None, 0]))
@PROPERTY
def test_any_bytes_are_covered_by_batches_damages_and_the_zero_tail(
    data: bytes, expected: int | None
) -> None:
    assert_tiles(scan(data, expected_offset=expected), 0, len(data))
