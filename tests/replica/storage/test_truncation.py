"""A truncation reads what lies around its end, and leaves the files that the log without the lost
batches would have."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.format.whole_batch import value_batch
from replica.model.batch import Batch
from replica.storage.filesystem import LocalDisk
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.replica.storage.content import FIRST_TIME, batches

SIZES = st.sampled_from((1, 40, 150, 700))
CLOCKS = st.integers(-3, 3)
"""How far the time of a batch is from its place: clocks may go back."""


def opened(folder: Path) -> FileLog:
    return open_log(LocalDisk(), str(folder), LogConfig(index_interval_bytes=300))


def batch(base_offset: int, records: int, size: int, late: int) -> Batch:
    time = FIRST_TIME + base_offset + late
    data = value_batch(base_offset, 1, time, [bytes(size)] * records)
    return Batch(base_offset, base_offset + records - 1, 1, time, (), data)


def numbered(shapes: list[tuple[int, int, int]]) -> list[Batch]:
    found, at = [], 0
    for records, size, late in shapes:
        found.append(batch(at, records, size, late))
        at += records
    return found


def files(folder: Path) -> dict[str, bytes]:
    kept = (".log", "index")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name.endswith(kept)}


@given(st.lists(st.tuples(st.integers(1, 3), SIZES, CLOCKS), min_size=1, max_size=40), st.data())
def test_logs_and_indexes_are_those_of_a_log_that_never_had_the_lost_batches(
    shapes: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    first = numbered(shapes)
    cut = data.draw(st.integers(0, first[-1].end_offset))
    flushed = data.draw(st.integers(0, len(first)))
    kept = [each for each in first if each.end_offset <= cut]
    with TemporaryDirectory() as name:
        truncated, other = Path(name, "truncated"), Path(name, "other")
        for folder in (truncated, other):
            folder.mkdir()
        log, plain = opened(truncated), opened(other)
        log.append(first[:flushed])
        log.flush()
        log.append(first[flushed:])
        end = log.truncate_to(cut)
        more = [batch(end, 1, 150, 0), batch(end + 1, 2, 700, 0)]
        log.append(more)
        plain.append([*kept, *more])
        log.close()
        plain.close()
        assert end == (kept[-1].end_offset if kept else 0)
        assert files(truncated) == files(other)


def test_the_bytes_that_a_truncation_reads_do_not_grow_with_the_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    for count in (100, 1000):
        folder = tmp_path / str(count)
        folder.mkdir()
        log = opened(folder)
        log.append(batches(0, count, size=1000))
        log.flush()
        reads: list[int] = []
        pread = os.pread

        def counted(
            handle: int, size: int, position: int, reads: list[int] = reads, pread=pread
        ) -> bytes:
            data: bytes = pread(handle, size, position)
            reads.append(len(data))
            return data

        with monkeypatch.context() as patch:
            patch.setattr(os, "pread", counted)
            assert log.truncate_to(count - 3) == count - 3
        log.close()
        read.append(sum(reads))
    small, large = read
    # 900 KB more of log; the entries of its indexes, of 8 and 12 bytes each, are read
    assert large - small < 30_000
