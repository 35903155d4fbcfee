"""The kernel that finds runs of batches finds what plain Python does. Hostile and damaged bytes:
tests/replica/storage/test_reading_in_runs.py."""

from __future__ import annotations

import struct
import subprocess
import sys
from itertools import count, pairwise

import pytest

from replica.format.batch import CRC_START
from replica.format.checksum import crc32c
from replica.format.runs import Run, plain_run, runs
from replica.format.whole_batch import value_batch
from replica.scan.compiled_runs import compiled_run
from replica.scan.frames import DUES
from replica.storage.segment_index import SegmentIndex

_MAX_TIME, _CRC = struct.Struct(">q"), struct.Struct(">I")
_LEAST, _MOST = -(2**63), 2**63 - 1
_NO_END = 2**63


def batch(offset: int, max_time: int) -> bytes:
    made = bytearray(value_batch(offset, 1, 1000, [bytes(20)]))
    _MAX_TIME.pack_into(made, 35, max_time)
    _CRC.pack_into(made, 17, crc32c(bytes(made[CRC_START:])))
    return bytes(made)


def log(max_times: list[int], base: int = 0) -> memoryview:
    """At least so many bytes that a kernel is called for them: the last time is repeated."""
    made, offsets = bytearray(), count(base)
    for time in [*max_times, *[max_times[-1]] * 300]:
        made += batch(next(offsets), time)
    return memoryview(bytes(made))


@pytest.mark.parametrize(
    "max_times",
    [[_LEAST], [-1], [_MOST, _LEAST], [_LEAST, -1, _MOST, _MOST], [5, 7, 7, 6, 8], [9, 1, 9]],
)
@pytest.mark.parametrize(("room", "interval"), [(-1, 4096), (0, 0), (500, 700), (_NO_END, _NO_END)])
def test_a_run_has_the_same_times_and_index_entries(
    max_times: list[int], room: int, interval: int
) -> None:
    data, place = log(max_times), (0, 70, 0, _NO_END)
    found = compiled_run(data, place, 1, room, interval)
    assert found == plain_run(data, place, 1, room, interval)
    assert found is not None
    assert found.end_position == 70 + len(data)


@pytest.mark.parametrize("end_offset", [1, 2, 150, 301, _NO_END])
def test_a_run_ends_at_the_same_offset(end_offset: int) -> None:
    data, place = log([5]), (0, 0, 0, end_offset)
    found = compiled_run(data, place, 1, _NO_END, _NO_END)
    assert found == plain_run(data, place, 1, _NO_END, _NO_END)
    assert found is not None
    assert found.end_offset == min(end_offset, 301)


def test_a_run_ends_where_the_next_offset_would_exceed_64_bits() -> None:
    data, base = log([5], _MOST - 300), _MOST - 300
    found = compiled_run(data, (0, 0, base, _NO_END), 1, _NO_END, _NO_END)
    assert found is not None
    assert found.last_offset == _MOST - 1


def test_more_index_entries_than_one_run_has_room_for_are_in_further_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = log([5] * 3 * DUES)

    def indexed() -> tuple[list[Run], SegmentIndex]:
        index, found = SegmentIndex(0, 0), []
        asked = {"start": 0, "expected_offset": 0, "epoch": 1, "interval": 0}
        for run in runs(data, room=lambda: index.room, **asked):
            index.add(run)
            found.append(run)
        return found, index

    (plain,), expected = indexed()
    monkeypatch.setattr("replica.format.runs._find", compiled_run)
    parts, index = indexed()

    assert len(parts) > 3
    assert all(one.end_position == two.position for one, two in pairwise(parts))
    assert parts[-1].end_position == plain.end_position
    assert index == expected


def test_a_process_uses_the_kernel_only_once_it_is_told_to() -> None:
    code = (
        "import replica.storage.recovery, sys; assert 'numpy' not in sys.modules;"
        "from replica.format import runs; from replica.scan import compiled_runs;"
        "assert runs._find is runs.plain_run; compiled_runs.load();"
        "assert runs._find is compiled_runs.compiled_run"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
