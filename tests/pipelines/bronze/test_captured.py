"""Where captures take their place in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.bronze.captured import KnownCapture, place
from pipelines.capture.looks import Group, Options, look_at
from pipelines.capture.spool import Spool

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def groups(data: Path, tmp_path: Path, captured_at: datetime | None) -> tuple[Group, ...]:
    with Spool.below(str(tmp_path / "lake")) as spool:
        node = str(data / "kafka-3.7.2-static/live/1")
        return look_at([node], Options(captured_at=captured_at), spool).rounds[0]


def known(group: Group, at: datetime) -> KnownCapture:
    return KnownCapture("another", group.looks[0].replica, at, 1, 0, ())


@pytest.mark.parametrize("step", [timedelta(seconds=5), 10 * HOUR])
def test_a_clock_that_went_back_puts_no_capture_before_an_earlier_one(
    step: timedelta, data: Path, tmp_path: Path
) -> None:
    (group,) = groups(data, tmp_path, None)
    (one,) = place([group], [known(group, NOON)], NOON - step)
    assert one.at == NOON + timedelta(microseconds=1)
    assert one.previous_at == NOON
    assert one.next_at is None
    assert one.clock_is_behind


def test_a_clock_that_goes_on_is_believed(data: Path, tmp_path: Path) -> None:
    (group,) = groups(data, tmp_path, None)
    (one,) = place([group], [known(group, NOON)], NOON + HOUR)
    assert (one.at, one.clock_is_behind) == (NOON + HOUR, False)


def test_a_capture_that_says_when_it_was_made_keeps_its_time(data: Path, tmp_path: Path) -> None:
    (group,) = groups(data, tmp_path, NOON - HOUR)
    (one,) = place([group], [known(group, NOON)], NOON + HOUR)
    assert (one.at, one.next_at, one.clock_is_behind) == (NOON - HOUR, NOON, False)
