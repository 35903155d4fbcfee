"""What a round of captures is called."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.capture_rounds import Round

AT = datetime(2026, 11, 23, 8, 35, 44, tzinfo=UTC)
RECORD_MS = 1_795_231_210_656


@pytest.mark.parametrize(
    ("known", "label"),
    [
        ({"has_own_time": True}, "at 08:35"),
        ({"has_own_time": True, "round_name": "split"}, "split, at 08:35"),
        ({"has_own_time": False}, "ingested at 08:35"),
        ({"has_own_time": False, "round_name": "split"}, "split (no record)"),
        (
            {"has_own_time": False, "round_name": "split", "newest_record_ms": RECORD_MS},
            "split (newest record 1795231210656 ms)",
        ),
    ],
)
def test_a_round_is_called_by_its_time_or_else_by_its_name_and_its_newest_record(
    known: dict[str, Any], label: str
) -> None:
    found = Round("c", "g", AT, 3, **known)
    assert found.label(lambda at: f"at {at:%H:%M}", lambda ms: f"{ms} ms") == label
