"""Where captures take their place in time."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.bronze.captured import KnownCapture, PlacedCaptures, place
from pipelines.bronze.small_tables import capture_row
from pipelines.capture.capture import CaptureOptions
from pipelines.capture.captures import CaptureGroup, capture_paths
from pipelines.capture.spool import Spool
from pipelines.lake import Lake

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def groups(data: Path, tmp_path: Path, captured_at: datetime | None) -> tuple[CaptureGroup, ...]:
    with Spool.below(Lake(tmp_path / "lake")) as spool:
        node = str(data / "kafka-3.7.2-static/live/1")
        return capture_paths([node], CaptureOptions(captured_at=captured_at), spool).rounds[0]


def known(group: CaptureGroup, at: datetime) -> PlacedCaptures:
    replica = group.captures[0].replica
    return PlacedCaptures().with_round([KnownCapture("another", replica, at, 1, 0, ())])


@pytest.mark.parametrize("step", [timedelta(seconds=5), 10 * HOUR])
def test_a_clock_that_went_back_puts_no_capture_before_an_earlier_one(
    step: timedelta, data: Path, tmp_path: Path
) -> None:
    (group,) = groups(data, tmp_path, None)
    (one,) = place([group], known(group, NOON), NOON - step)
    assert one.at == NOON + timedelta(microseconds=1)
    assert one.previous_at == NOON
    assert one.later == ()
    assert one.clock_is_behind


def test_a_clock_that_goes_on_is_believed(data: Path, tmp_path: Path) -> None:
    (group,) = groups(data, tmp_path, None)
    (one,) = place([group], known(group, NOON), NOON + HOUR)
    assert (one.at, one.clock_is_behind) == (NOON + HOUR, False)


def test_a_capture_that_says_when_it_was_made_keeps_its_time(data: Path, tmp_path: Path) -> None:
    (group,) = groups(data, tmp_path, NOON - HOUR)
    (one,) = place([group], known(group, NOON), NOON + HOUR)
    assert (one.at, one.clock_is_behind) == (NOON - HOUR, False)
    assert [later.at for later in one.later] == [NOON]


def test_a_capture_of_order_is_known_by_its_round_and_has_no_time_of_its_own(
    data: Path, tmp_path: Path
) -> None:
    order = ("live", "split")
    folders = [str(data / "kafka-3.7.2-static" / name / "1") for name in order]
    with Spool.below(Lake(tmp_path / "lake")) as spool:
        captures = capture_paths(folders, CaptureOptions(order=order), spool)
        rows = [
            capture_row(one, {})
            for round_ in captures.rounds
            for one in place(round_, PlacedCaptures(), NOON)
        ]
    assert [(row["round_name"], row["has_own_time"]) for row in rows] == [
        ("live", False),
        ("split", False),
    ]


@pytest.mark.parametrize("told", [NOON - HOUR, None])
def test_a_capture_says_whether_its_time_was_told(
    told: datetime | None, data: Path, tmp_path: Path
) -> None:
    (group,) = groups(data, tmp_path, told)
    (one,) = place([group], PlacedCaptures(), NOON)
    row = capture_row(one, {})
    assert (row["round_name"], row["has_own_time"]) == (None, told is not None)


def test_a_round_of_order_with_a_capture_json_has_both_its_name_and_its_time(
    data: Path, tmp_path: Path
) -> None:
    nodes = tmp_path / "split"
    shutil.copytree(data / "kafka-3.7.2-static/split/1", nodes / "1")
    (nodes / "capture.json").write_text('{"version": 1, "captured_at": "2026-11-20T00:00:00Z"}')
    with Spool.below(Lake(tmp_path / "lake")) as spool:
        (round_,) = capture_paths([str(nodes)], CaptureOptions(order=("split",)), spool).rounds
        (one,) = place(round_, PlacedCaptures(), NOON)
        row = capture_row(one, {})
    assert (row["round_name"], row["has_own_time"]) == ("split", True)
