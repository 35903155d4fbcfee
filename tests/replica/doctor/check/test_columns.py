"""A log whose batches are columns of numbers is judged as one whose batches are values."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from replica.doctor.check.directory import gather, judge_directory, judge_snapshots
from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.landmarks import known_files
from replica.doctor.check.replay_fold import FoldedImages
from replica.format.byte_source import Source
from replica.format.discovery import discover
from replica.format.segment import SegmentScan
from replica.scan import segments
from replica.scan.compact import CompactBatches
from replica.scan.file_room import FileRoom
from tests.replica.doctor.check.test_totality import damage

DATA = Path(__file__).parents[3] / "data"
NODES = ("kafka-3.7.2-static/final/12", "kafka-4.1.1-dynamic/live/3", "kafka-4.1.1-dynamic/split/1")


@dataclass(frozen=True)
class Columns(FileRoom):
    """Reads every log into columns, however small it is."""

    def scan(
        self, data: Source, *, start: int = 0, expected_offset: int | None = None
    ) -> SegmentScan:
        return segments.scan(data, start=start, expected_offset=expected_offset, compact=True)


def told(examined: Examined) -> tuple[object, ...]:
    """Whatever the rules say of a directory, and what need not be read again."""
    facts = gather(examined)
    findings = [*judge_directory(facts, FoldedImages())]
    verdicts = [*judge_snapshots(facts, {})]
    return findings, verdicts, known_files(facts, findings, {})


@pytest.mark.parametrize("name", NODES)
def test_columns_and_values_are_judged_alike(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "MIN_BYTES", 0)
    monkeypatch.setattr(segments, "MIN_BYTES_LOADED", 0)
    for seed in range(12):
        chance = random.Random(seed)
        node = Path(shutil.copytree(DATA / name, tmp_path / str(seed)))
        for _ in range(seed % 4):
            damage(node, chance)
        (found,) = discover([str(node)])
        of_columns, of_values = examine(found, room=Columns()), examine(found)
        logs = of_columns.directory.segments
        assert all(isinstance(one.scan.batches, CompactBatches) for one in logs)
        assert told(of_columns) == told(of_values)
