"""A short form of the campaign in every run; RESULTS.md has the long ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from replica.scan import regions
from tests.fuzz.scan_campaign import hold_equal_as_file, hold_meaning, one_input
from tests.replica.scan.damaging import Pool


def test_both_readers_say_the_same_of_damaged_segments(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        regions, "WINDOW_BYTES", regions.WINDOW_BYTES
    )  # each input sets another one
    pool = Pool(data, random.Random(7))
    for number in range(40):
        segment, arguments = one_input(pool, 7, number)
        hold_equal_as_file(segment, tmp_path / "segment", arguments)
        hold_meaning(segment, arguments)
