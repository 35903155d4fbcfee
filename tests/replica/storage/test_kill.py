"""A real process, killed with -9 at random moments, keeps all that it said was safe: entries,
votes, snapshots. tests/fuzz/kill_campaign.py does the same for as long as you like."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.replica.storage.killing import Killing


def test_ten_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    killing = Killing(tmp_path, Random(1))
    for _ in range(10):
        killing.round()
    assert killing.end > 10
    assert killing.counts["end said"] > 10
    assert killing.counts["vote said"] > 0
