"""Times of records that go back: a note, because the order of the log is that of its offsets."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from replica.doctor.check.clock_steps import ClockStep, clock_steps
from tests.replica.doctor.check.editing import batches, findings, overwrite, segment
from tests.replica.scan.damaging import with_right_crc

DATA = Path(__file__).parents[3] / "data"
DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The log from 0 to 3674; its newest segment begins at 2722."""
    return Path(shutil.copytree(DATA / "kafka-4.1.1-dynamic/final/3", tmp_path / "node"))


def moved_by(path: Path, first: int, last: int, by_ms: int) -> None:
    """The times of the batches that begin at these offsets (inclusive), moved, with right CRCs."""
    for batch in batches(path):
        header = batch.header
        if first <= header.base_offset <= last:
            raw = path.read_bytes()[batch.position : batch.position + header.size_bytes]
            times = header.base_timestamp + by_ms, header.max_timestamp + by_ms
            moved = raw[:27] + b"".join(time.to_bytes(8, "big") for time in times) + raw[43:]
            overwrite(path, batch.position, with_right_crc(moved))


def test_a_clock_that_went_back_is_a_note_with_the_offset(node: Path) -> None:
    moved_by(segment(node, 2722), 3656, 3662, DAY_MS)
    (found,) = (one for one in findings(node) if one.rule.id == "clock-went-back")
    assert found.offset == 3663
    assert found.message.startswith("times go back at offset 3663, from 2026-11-22 ")


def test_a_clock_that_goes_back_by_less_than_a_second_tells_nothing(node: Path) -> None:
    assert "clock-went-back" not in [one.rule.id for one in findings(node)]
    moved_by(segment(node, 2722), 3656, 3656, 900)
    assert "clock-went-back" not in [one.rule.id for one in findings(node)]


def test_only_batches_that_follow_each_other_are_compared() -> None:
    batches = [(0, 5, 10_000, 20_000), (5, 6, 19_000, 19_500), (8, 9, 1, 1), (9, 10, -1, -1)]
    assert list(clock_steps(batches)) == [ClockStep(5, 20_000, 19_000)]
    assert list(clock_steps([*batches, (10, 11, 0, 0)])) == [ClockStep(5, 20_000, 19_000)]
