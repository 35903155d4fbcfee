"""The batches of a large file, held as columns of numbers."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from replica.format import segment
from replica.format.reading import MAX_LOG_BYTES, open_file
from replica.format.segment import SegmentScan, chosen, numbers_of, places_where
from replica.scan import segments
from replica.scan.compact import NAMES, CompactBatches, column_of, next_offsets
from tests.bench.segments import batches
from tests.replica.scan.damaging import Pool, damaged

_DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(autouse=True, scope="module")
def all_are_large() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "MIN_BYTES", 0)
        patch.setattr(segments, "MIN_BYTES_LOADED", 0)
        yield


def _read(path: Path, raw: bytes, expected_offset: int | None) -> SegmentScan:
    path.write_bytes(raw)
    with open_file(str(path), MAX_LOG_BYTES) as file:
        return segments.scan(file, expected_offset=expected_offset, compact=True)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[SegmentScan, SegmentScan]:
    """A segment of several windows, read as columns and as values."""
    raw = b"".join(batch for batch, _ in batches(3_000_000, pool=2000))
    path = tmp_path_factory.mktemp("segment") / f"{0:020d}.log"
    return _read(path, raw, 0), segment.scan(raw, expected_offset=0)


def test_damaged_files_are_read_as_the_scalar_reader_reads_them(pool: Pool, tmp_path: Path) -> None:
    for number in range(9000, 9300):
        chance = random.Random(number)
        raw, first = pool.segment(chance)
        raw, expected = damaged(raw, chance), chance.choice((first, None))
        found = _read(tmp_path / "log", raw, expected)
        assert isinstance(found.batches, CompactBatches)
        assert found == segment.scan(raw, expected_offset=expected)


def test_recorded_segments_are_read_as_the_scalar_reader_reads_them(tmp_path: Path) -> None:
    for path in sorted(_DATA.glob("kafka-4.1.1-dynamic/*/*/__cluster_metadata-0/*.log")):
        raw = path.read_bytes()
        assert _read(tmp_path / "log", raw, int(path.stem)) == segment.scan(
            raw, expected_offset=int(path.stem)
        )


def test_numbers_of_columns_are_those_of_values(pool: Pool, tmp_path: Path) -> None:
    told = ("next_offset", "last_offset", "size_bytes", "is_control")
    for number in range(9300, 9400):
        chance = random.Random(number)
        raw, expected = pool.segment(chance)
        raw = damaged(raw, chance)
        columns = _read(tmp_path / "log", raw, expected).batches
        values = segment.scan(raw, expected_offset=expected).batches
        assert [*numbers_of(columns, *NAMES, *told)] == [*numbers_of(values, *NAMES, *told)]


def test_wanted_places_of_columns_are_those_of_values(pool: Pool, tmp_path: Path) -> None:
    seen = 0
    for number in range(9400, 9500):
        chance = random.Random(number)
        raw, expected = pool.segment(chance)
        columns = _read(tmp_path / "log", damaged(raw, chance), expected).batches
        values = tuple(columns)
        for name in values and (*NAMES, "next_offset", "last_offset", "size_bytes", "is_control"):
            limit = min(next(numbers_of([chance.choice(values)], name, name))[0], 2**63 - 1)
            is_wanted = lambda told, is_valid, limit=limit: (told >= limit) & is_valid  # noqa: E731
            names = (name, "crc_valid")
            found = [*places_where(columns, names, is_wanted)]
            assert found == [*places_where(values, names, is_wanted)]
            assert [*chosen(columns, names, is_wanted)] == [values[place] for place in found]
            seen += 0 < len(found) < len(values)
    assert seen > 500


def test_every_slice_and_place_is_that_of_a_tuple(
    sound: tuple[SegmentScan, SegmentScan],
) -> None:
    compact, values = (one.batches for one in sound)
    assert len(compact) == len(values) > 1000
    assert tuple(compact) == values
    chance = random.Random(5)
    for _ in range(100):
        begin, end = (chance.randrange(-len(values) - 9, len(values) + 9) for _ in range(2))
        assert compact[begin:end] == values[begin:end]
        assert compact[begin:end:-3] == values[begin:end:-3]
        number = chance.randrange(-len(values), len(values))
        assert compact[number] == values[number]
    for number in (len(values), -len(values) - 1):
        with pytest.raises(IndexError):
            compact[number]


def test_a_compact_column_equals_the_values_of_the_batches(
    sound: tuple[SegmentScan, SegmentScan],
) -> None:
    compact, values = (one.batches for one in sound)
    for name in NAMES:
        expected = [getattr(one if hasattr(one, name) else one.header, name) for one in values]
        assert column_of(compact, name).tolist() == expected
        assert column_of(values, name).tolist() == expected
    expected = [batch.header.next_offset for batch in values]
    assert next_offsets(compact).tolist() == next_offsets(values).tolist() == expected
    assert column_of((), "position").dtype == np.int64


def test_a_batch_takes_less_than_50_bytes(sound: tuple[SegmentScan, SegmentScan]) -> None:
    batches = sound[0].batches
    assert len(pickle.dumps(batches)) < 50 * len(batches)
    assert pickle.loads(pickle.dumps(batches)) == batches  # noqa: S301 - our own bytes
