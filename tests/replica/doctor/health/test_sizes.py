"""The sizes of a log's records."""

from __future__ import annotations

from replica.doctor.health.log_content import LogContent
from replica.doctor.health.sizes import RECORD, EntitySize, record_sizes

HOUR_MS = 3_600_000


def content(first_at: int | None, last_at: int | None) -> LogContent:
    found = LogContent(first_at=first_at, last_at=last_at)
    found.add("TOPIC_RECORD", 50, count=5)
    found.add("CONFIG_RECORD", 900, count=2)
    return found


def test_the_types_with_most_bytes_come_first_with_their_records_per_hour() -> None:
    assert list(record_sizes(content(HOUR_MS, 5 * HOUR_MS))) == [
        EntitySize(RECORD, "CONFIG_RECORD", 2, None, 900, 0.5),
        EntitySize(RECORD, "TOPIC_RECORD", 5, None, 50, 1.2),
    ]


def test_a_log_without_times_or_of_one_moment_has_no_rate() -> None:
    for content_ in (content(None, None), content(HOUR_MS, HOUR_MS), content(5 * HOUR_MS, HOUR_MS)):
        assert [one.per_hour for one in record_sizes(content_)] == [None, None]
