"""Directories read by the bulk walker are those that the scalar reader reads."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from replica.format import segment
from replica.format.directory import read_directory
from replica.scan.segments import MIN_BYTES, scan, scan_ends
from tests.replica.scan.bulk import bulk_scan
from tests.replica.scan.damaging import Pool, damaged

_DATA = Path(__file__).parents[2] / "data"
_NODES = ("kafka-3.7.2-static/final/12", "kafka-4.1.1-dynamic/split/2")


@pytest.mark.parametrize("node", _NODES)
def test_a_directory_is_the_same_by_either_reader(node: str) -> None:
    folder = str(_DATA / node / "__cluster_metadata-0")
    assert read_directory(folder, scan=bulk_scan) == read_directory(folder)


def test_damaged_segments_are_the_same_by_either_reader(pool: Pool) -> None:
    for number in range(300):
        chance = random.Random(number)
        data, first = pool.segment(chance)
        data = damaged(data, chance)
        expected = chance.choice((first, None))
        given = {"start": chance.choice((0, 1 << 40)), "expected_offset": expected}
        assert bulk_scan(data, **given) == segment.scan(data, **given)


def test_a_large_file_is_read_the_same_whichever_reader_is_chosen(pool: Pool) -> None:
    data, first = pool.segment(random.Random(1))
    large = data + b"\x7f" * MIN_BYTES
    assert scan(large, expected_offset=first) == segment.scan(large, expected_offset=first)


@pytest.mark.parametrize("node", _NODES)
def test_a_directory_s_damages_joints_and_ends_are_the_same_without_its_other_batches(
    node: str,
) -> None:
    folder = str(_DATA / node / "__cluster_metadata-0")
    whole, ends = read_directory(folder), read_directory(folder, scan=scan_ends)
    assert ends.damages == whole.damages
    assert ends.files == whole.files
    assert (ends.first_offset, ends.log_end_offset) == (whole.first_offset, whole.log_end_offset)
    assert max(len(one.scan.batches) for one in ends.segments) <= 2


def test_ends_are_those_of_no_batch_of_one_and_of_many(pool: Pool) -> None:
    data, first = pool.segment(random.Random(3))
    batches = scan(data, expected_offset=first).batches
    assert scan_ends(b"").batches == ()
    one = data[: batches[0].header.size_bytes]
    assert scan_ends(one, expected_offset=first).batches == batches[:1]
    assert scan_ends(data, expected_offset=first).batches == (batches[0], batches[-1])


def test_kernels_that_are_loaded_read_far_smaller_files() -> None:
    script = (
        "import importlib, sys; from replica.scan import segments as s; "
        "print(s.is_large(s.MIN_BYTES_LOADED), s._KERNELS in sys.modules); "
        "importlib.import_module(s._KERNELS); "
        "print(s.is_large(s.MIN_BYTES_LOADED), s.is_large(s.MIN_BYTES_LOADED - 1))"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["False", "False", "True", "False"]
