"""Damaged places in a large log cost what they damage: the batches between them are all read."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import accumulate, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from replica.format import resync
from replica.format.batch import BatchHeader, decode_header
from replica.format.damage import DamageKind
from replica.format.segment import SegmentScan, scan
from replica.message.primitives import Buffer
from tests.bench.segments import batches
from tests.replica.scan.agreement import hold_equal
from tests.replica.scan.bulk import bulk_scan

_PLACE_BYTES = (512, 4096, 65536)
_READERS = pytest.mark.parametrize("reader", [scan, bulk_scan], ids=["scalar", "bulk"])


class _Log:
    """A sound log, and which of its batches a damage leaves as they are."""

    def __init__(self, size: int) -> None:
        self.parts = [batch for batch, _ in batches(size, pool=4000)]
        self.whole = b"".join(self.parts)
        self.ends = [0, *accumulate(map(len, self.parts))]

    def sound_in(self, damaged: bytes | bytearray) -> set[tuple[int, int]]:
        """Base offset and CRC of the batches whose bytes are unchanged, of a log of this size."""
        one, other = memoryview(self.whole), memoryview(damaged)
        return {
            _name(decode_header(one, begin))
            for begin, end in pairwise(self.ends)
            if one[begin:end] == other[begin:end]
        }


@pytest.fixture(scope="module")
def small() -> _Log:
    return _Log(1_500_000)


@pytest.fixture(scope="module")
def large() -> _Log:
    return _Log(40_000_000)


def _share_read(log: _Log, damaged: bytes, found: SegmentScan) -> float:
    sound = log.sound_in(damaged)
    return len(sound & _read(found)) / len(sound)


def _share_read_or_named(log: _Log, damaged: bytes, found: SegmentScan) -> float:
    """Where batches with higher offsets were copied in front of others, nobody can tell which of
    the two are out of place: one of them are read, and the others are damages, each by its
    place."""
    sound = log.sound_in(damaged)
    whole = memoryview(log.whole)
    named = {
        _name(decode_header(whole, one.position))
        for one in found.damages
        if one.kind is DamageKind.OFFSET_MISMATCH and one.position in log.ends[:-1]
    }
    return len(sound & (_read(found) | named)) / len(sound)


def _read(found: SegmentScan) -> set[tuple[int, int]]:
    return {_name(batch.header) for batch in found.batches if batch.crc_valid}


def _name(header: BatchHeader) -> tuple[int, int]:
    return header.base_offset, header.crc


def _overwritten(log: _Log, places: int, chance: random.Random) -> bytes:
    damaged = bytearray(log.whole)
    for _ in range(places):
        size = chance.choice(_PLACE_BYTES)
        at = chance.randrange(len(damaged) - size)
        damaged[at : at + size] = chance.randbytes(size)
    return bytes(damaged)


@pytest.mark.slow
@_READERS
def test_random_bytes_at_five_places_of_a_large_log_hide_no_sound_batch(
    large: _Log, reader: Callable[..., SegmentScan]
) -> None:
    for seed in range(8):
        damaged = _overwritten(large, 5, random.Random(seed))
        found = reader(damaged, expected_offset=0)
        assert _share_read(large, damaged, found) > 0.99
        assert not [d for d in found.damages if "too damaged" in d.detail]


@_READERS
@pytest.mark.parametrize("places", [5, pytest.param(50, marks=pytest.mark.slow), 200])
def test_places_all_over_a_log_are_passed_with_little_more_crc_work_than_the_logs_own(
    large: _Log,
    places: int,
    reader: Callable[..., SegmentScan],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the bulk reader what its kernel leaves to the scalar one. How long both take:
    tests/bench/DAMAGED.md."""
    checked = 0

    def counted(part: Buffer, before: int) -> int:
        nonlocal checked
        checked += len(part)
        return continued(part, before)

    continued = resync.continued_crc
    monkeypatch.setattr(resync, "continued_crc", counted)
    damaged = _overwritten(large, places, random.Random(places))
    found = reader(damaged, expected_offset=0)
    assert _share_read(large, damaged, found) > 0.99
    assert checked < (1.5 if reader is scan else 1.0) * len(damaged)


def _with_lengths_damaged(log: _Log, chance: random.Random) -> bytearray:
    damaged = bytearray(log.whole)
    for begin in chance.sample(log.ends[:-1], 40):
        damaged[begin + 8 + chance.randrange(4)] ^= 1 << chance.randrange(8)
    return damaged


def _with_headers_of_batches_copied(log: _Log, chance: random.Random) -> bytearray:
    """Headers of true batches, with bodies that aren't theirs behind them."""
    damaged = bytearray(log.whole)
    for _ in range(200):
        header = chance.choice(log.parts)[:61]
        at = chance.randrange(len(damaged) - 61)
        damaged[at : at + 61] = header
    return damaged


def _with_large_headers_made_up(log: _Log, chance: random.Random) -> bytearray:
    """Headers that claim some MiB each, right in all but the CRC."""
    damaged = bytearray(log.whole)
    for _ in range(400):
        header = bytearray(chance.choice(log.parts)[:61])
        header[8:12] = chance.randrange(1 << 20).to_bytes(4, "big")
        at = chance.randrange(len(damaged) - 61)
        damaged[at : at + 61] = header
    return damaged


@_READERS
@pytest.mark.parametrize(
    "damage",
    [_with_lengths_damaged, _with_headers_of_batches_copied, _with_large_headers_made_up],
)
def test_headers_that_lie_hide_no_sound_batch(
    small: _Log,
    damage: Callable[[_Log, random.Random], bytearray],
    reader: Callable[..., SegmentScan],
) -> None:
    for seed in range(5):
        damaged = bytes(damage(small, random.Random(seed)))
        assert _share_read(small, damaged, reader(damaged, expected_offset=0)) > 0.99


_DAMAGES = st.lists(
    st.tuples(
        st.sampled_from(("random", "zeros", "twos", "another place", "one bit", "headers")),
        st.integers(0, 1 << 30),
        st.sampled_from((1, 17, 61, 512, 4096, 65536)),
    ),
    min_size=1,
    max_size=12,
)


@given(_DAMAGES)
@example([("random", 116, 65536), ("another place", 73133, 65536)])
def test_both_readers_read_or_name_the_sound_batches_of_every_damaged_log(
    small: _Log, damages: list[tuple[str, int, int]]
) -> None:
    damaged = bytearray(small.whole)
    for kind, seed, size in damages:
        chance = random.Random(seed)
        at = chance.randrange(len(damaged) - size)
        damaged[at : at + size] = _bytes_of(kind, size, small, chance, at)
    raw = bytes(damaged)
    found = scan(raw, expected_offset=0)
    assert _share_read_or_named(small, raw, found) > 0.99
    assert bulk_scan(raw, expected_offset=0) == found


def _bytes_of(kind: str, size: int, log: _Log, chance: random.Random, at: int) -> bytes:
    if kind == "zeros":
        return bytes(size)
    if kind == "twos":
        return b"\2" * size
    if kind == "another place":
        begin = chance.randrange(len(log.whole) - size)
        return log.whole[begin : begin + size]
    if kind == "one bit":
        return bytes([log.whole[at] ^ 1 << chance.randrange(8)]) + log.whole[at + 1 : at + size]
    if kind == "headers":
        return (chance.choice(log.parts)[:61] * (size // 61 + 1))[:size]
    return chance.randbytes(size)


def test_both_readers_agree_about_every_column_of_a_damaged_log(small: _Log) -> None:
    damaged = bytearray(small.whole[:150_000])
    for at in (5_000, 60_000, 61_000, 140_000):
        damaged[at : at + 900] = random.Random(at).randbytes(900)
    hold_equal(bytes(damaged), expected=0)
