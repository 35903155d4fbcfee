"""Files are read through a window that moves: what is said of them doesn't depend on its size."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replica.errors import UnreadableFileError
from replica.format import byte_source
from replica.format.byte_source import OpenFile
from replica.format.reading import MAX_LOG_BYTES, open_file
from replica.format.resync import CREDIT_BYTES
from replica.format.segment import scan
from replica.format.walk import LocatedBatch
from replica.scan.arrow import BatchScan, RecordScan
from replica.scan.regions import Regions
from tests.bench.segments import batches
from tests.examples import examples
from tests.replica.scan.agreement import REDACTOR, hold_equal, rows_of, scalar_records
from tests.replica.scan.damaging import Pool, damaged, recorded_segments
from tests.traced_memory import peak_of

_DATA = Path(__file__).parents[2] / "data"
_SIZES = (1, 61, 62, 200, 1000, 5000, 1 << 20)


def _written(path: Path, raw: bytes) -> OpenFile:
    path.write_bytes(raw)
    return open_file(str(path), MAX_LOG_BYTES)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replica.scan.regions.WINDOW_BYTES", 4096)


@pytest.fixture(scope="module")
def sound() -> bytes:
    return b"".join(batch for batch, _ in batches(200_000, pool=2000))


@pytest.mark.parametrize("size", _SIZES)
def test_recorded_files_in_windows(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replica.scan.regions.WINDOW_BYTES", size)
    different = {path.read_bytes(): path for path in recorded_segments(_DATA)}
    for raw, path in [*different.items()][_SIZES.index(size) :: len(_SIZES)]:
        expected = int(path.stem) if path.suffix == ".log" else 0
        with open_file(str(path), MAX_LOG_BYTES) as file:
            hold_equal(raw, expected=expected, redactor=REDACTOR, buffer=file)


@pytest.mark.parametrize("share", range(4))
def test_damaged_bytes_in_windows(
    pool: Pool, share: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5000 + share * 250, 5000 + share * 250 + examples(250)):
        chance = random.Random(number)
        segment, first = pool.segment(chance)
        raw = damaged(segment, chance) + bytes(chance.choice((0, 0, 1, 300)))
        monkeypatch.setattr("replica.scan.regions.WINDOW_BYTES", chance.choice(_SIZES))
        first_block = chance.choice((1, 17, 4096))
        monkeypatch.setattr("replica.format.resync._FIRST_BLOCK_BYTES", first_block)
        with _written(tmp_path / "log", raw) as file:
            expected = chance.choice((first, None))
            hold_equal(raw, expected=expected, buffer=file)


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400), st.sampled_from((None, 0, -1)), st.sampled_from(_SIZES))
def test_random_bytes_in_windows(
    tmp_path: Path, raw: bytes, expected: int | None, size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, _written(tmp_path / "log", raw) as file:
        patch.setattr("replica.scan.regions.WINDOW_BYTES", size)
        hold_equal(raw, expected=expected, buffer=file)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("cut", [0, 1, 3000, 60_000, 150_001, 199_999])
def test_a_file_cut_short_while_it_is_read_ends_where_it_was_cut(
    tmp_path: Path, sound: bytes, cut: int
) -> None:
    with _written(tmp_path / "log", sound) as file:
        records = RecordScan(file, expected_offset=0)
        tables = iter(records)
        got = rows_of([next(tables)])
        os.truncate(tmp_path / "log", cut)
        got += rows_of(tables)
    there = scalar_records(sound[:cut], 0, 0, None)
    assert got[: len(there)] == there
    assert all(row[0] < 4096 for row in got[len(there) :]), "what was in the window was there too"
    if cut > 4096:
        assert records.damages == scan(sound[:cut], expected_offset=0).damages
        assert records.end_position == cut
    assert records.zero_tail == 0


@pytest.mark.usefixtures("small")
def test_bytes_appended_during_a_scan_are_not_read(tmp_path: Path, sound: bytes) -> None:
    with _written(tmp_path / "log", sound) as file:
        tables = iter(RecordScan(file, expected_offset=0))
        got = rows_of([next(tables)])
        with (tmp_path / "log").open("ab") as out:
            out.write(sound)
        assert got + rows_of(tables) == scalar_records(sound, 0, 0, None)


@pytest.mark.parametrize("change", ["cut", "overwrite"])
def test_a_doubtful_batch_that_was_changed_meanwhile_has_no_bytes(
    tmp_path: Path, sound: bytes, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replica.scan.regions.WINDOW_BYTES", 100)
    with _written(tmp_path / "log", sound) as file:
        regions = Regions(file, 0, None)
        batch = next(regions.read(None))
        assert isinstance(batch, LocatedBatch)
        assert len(regions.bytes_of(batch)) == batch.header.size_bytes
        (tmp_path / "log").write_bytes(b"" if change == "cut" else b"x" * len(sound))
        assert len(regions.bytes_of(batch)) == 0


def test_a_read_error_names_the_file(tmp_path: Path, sound: bytes) -> None:
    file = _written(tmp_path / "log", sound)
    tables = iter(BatchScan(file))
    file.__exit__(None, None, None)
    with pytest.raises(UnreadableFileError, match="log: Bad file descriptor"):
        list(tables)


def test_a_batch_larger_than_the_window_makes_it_grow_up_to_the_kernels_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replica.scan.regions.WINDOW_BYTES", 100)
    monkeypatch.setattr("replica.scan.frames.LARGEST_BATCH_BYTES", 1500)
    raw = b"".join(batch for batch, _ in batches(30_000, pool=2000))
    sizes = {batch.header.size_bytes > 1500 for batch in scan(raw).batches}
    assert sizes == {True, False}
    with _written(tmp_path / "log", raw) as file:
        hold_equal(raw, expected=0, buffer=file)


def test_damage_all_over_a_file_costs_no_more_than_its_bytes_a_few_times(
    tmp_path: Path, sound: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the window nor the search for the next batch goes over the rest again and again."""
    raw = bytearray(sound * 20)
    for batch in scan(sound).batches[::2]:
        for part in range(20):
            raw[part * len(sound) + batch.position + 70] ^= 1
            raw[part * len(sound) + batch.position + 16] ^= part & 1
    taken = 0

    def counted(handle: int, targets: list[memoryview], position: int) -> int:
        nonlocal taken
        got = os.preadv(handle, targets, position)
        taken += got
        return got

    monkeypatch.setattr(byte_source, "preadv", counted)
    with _written(tmp_path / "log", bytes(raw)) as file:
        for _ in BatchScan(file, expected_offset=0):
            pass
    assert taken < CREDIT_BYTES + 8 * len(raw), "the search has its own bound"


def test_memory_does_not_grow_with_the_file_sound_or_damaged(tmp_path: Path) -> None:
    part = b"".join(batch for batch, _ in batches(1_000_000, pool=2000))
    broken = bytearray(part)
    broken[500_000:500_100] = bytes(100)

    def peak(raw: bytes) -> int:
        with _written(tmp_path / "log", raw) as file:
            rows = []
            highest = peak_of(lambda: rows.extend(table.num_rows for table in RecordScan(file)))
        assert sum(rows)
        return highest

    peak(part)  # which makes the kernels' buffers, once
    more = 8 * len(part + broken)
    assert peak((part + broken) * 12) < peak((part + broken) * 4) + more / 8
