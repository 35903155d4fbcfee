"""What judges a soak, and a short one; SOAK.md has the long one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.interop.kafka_jars import class_path_or_skip
from tests.soak.commands import bad_lines
from tests.soak.course import Plan, Soak, Story
from tests.soak.ends import Batch, by_offset, folded
from tests.soak.judging import Verdict, judged
from tests.soak.memory import Sample, course
from tests.soak.record import earlier, text

MIB = 2**20


def samples(*sizes: int) -> list[Sample]:
    """One each minute."""
    return [Sample(60.0 * number, size) for number, size in enumerate(sizes)]


def test_memory_that_grows_in_the_first_half_alone_is_flat() -> None:
    grown = course(samples(*range(0, 100 * MIB, MIB), *[100 * MIB] * 100))
    assert grown.is_flat
    assert (grown.first, grown.median, grown.highest) == (0, 99.5 * MIB, 100 * MIB)


def test_memory_that_grows_until_the_end_is_not_flat() -> None:
    """By 6 MiB an hour, of which 5 are allowed."""
    found = course(samples(*(100 * MIB + n * MIB // 10 for n in range(120))))
    assert found.rise == pytest.approx(6 * MIB, rel=0.01)
    assert not found.is_flat


def test_peaks_are_no_growth_unless_they_grow_themselves() -> None:
    def peaks(growth: int) -> list[Sample]:
        peak = [(number % 3 == 0) * (400 * MIB + number * growth) for number in range(120)]
        return samples(*(100 * MIB + size for size in peak))

    assert course(peaks(0)).is_flat
    assert not course(peaks(MIB)).is_flat


def test_a_few_bytes_that_a_small_process_grows_by_are_flat() -> None:
    found = course(samples(*(10 * MIB + n * MIB // 20 for n in range(120))))
    assert found.rise == pytest.approx(3 * MIB, rel=0.01)
    assert found.is_flat


def message(version: int, ordinal: int, offset: int, new: str | None, old: str = "") -> bytes:
    def row(value: str) -> dict[str, object]:
        keys = {"cluster_id": "c", "offset": offset, "leader_epoch": 1, "entity": "topic"}
        return keys | {"key": "k", "change": "topic_created", "new": value}

    before, after = (row(old) if old else None), (None if new is None else row(new))
    content = {"version": version, "ordinal": ordinal, "before": before, "after": after}
    return json.dumps(content).encode()


def test_messages_leave_the_newest_row_of_each_key_in_whatever_order_they_come() -> None:
    first, second = message(1, 0, 7, "a"), message(2, 0, 7, "b", "a")
    gone = message(2, 1, 8, None, "x"), message(1, 1, 8, "x")
    alone = folded([message(1, 0, 7, "b")])

    found = folded([second, *gone, first])

    assert (found.count, found.places) == (4, 4)
    assert found.rows == alone.rows
    assert folded([first, first]).places == 1


def test_each_offset_of_a_batch_has_its_epoch_and_crc() -> None:
    batches = [Batch(0, 1, 3, 9), Batch(2, 2, 4, 8)]
    assert by_offset(batches) == [(0, 3, 9), (1, 3, 9), (2, 4, 8)]
    assert [batch.records for batch in batches] == [2, 1]


def test_lines_that_tell_of_errors_are_found(tmp_path: Path) -> None:
    (tmp_path / "ingest.txt").write_text(
        "22:12:59 ERROR Query: ended\nTraceback (most recent call last):\nkraftlake: error: x\n"
        "22:12:59 WARN Session: set\nobserve: 0 errors\n"
    )
    assert [line.partition(":")[2][:6].strip() for line in bad_lines(tmp_path)] == [
        "22:12",
        "Trace",
        "kraft",
    ]


@pytest.mark.slow
def test_a_short_soak_ends_with_equal_counts(tmp_path: Path) -> None:
    """Memory is left to the long one: a JVM takes longer to fill its heap."""
    class_path_or_skip()
    plan = Plan(minutes=2, kill_s=60, build_s=600, follow_s=30, sample_s=10, heap_s=60)

    story = Soak(plan, tmp_path / "soak").run()

    verdict = judged(story, tmp_path / "soak", with_memory=False)
    assert verdict.is_passed, text(story, verdict, tmp_path / "soak")
    assert len(verdict.checks) > 10, text(story, verdict, tmp_path / "soak")
    assert story.heaps or shutil.which("jcmd") is None


def test_a_soak_that_failed_at_once_has_a_record_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "said").mkdir()
    story = Story(Plan(), failures=["AssertionError: no\nleader"])
    verdict = judged(story, tmp_path)
    assert isinstance(verdict, Verdict)
    assert not verdict.is_passed
    said = text(story, verdict, tmp_path)
    assert "**FAILED**" in said
    assert "AssertionError: no leader" in said
    assert "all by the local engine, without Spark" in said
    story.samples["ingest jvm"] = [Sample(0.0, 1)]
    assert "Spark's drivers with 1g of heap" in text(story, verdict, tmp_path)


def test_a_record_written_anew_keeps_what_it_says_of_earlier_soaks(tmp_path: Path) -> None:
    record = tmp_path / "SOAK.md"
    assert earlier(record) == ""
    record.write_text("# Soak\n\nof today\n\n## Earlier soaks\n\n| a |\n", encoding="utf-8")
    assert earlier(record) == "\n## Earlier soaks\n\n| a |\n"
